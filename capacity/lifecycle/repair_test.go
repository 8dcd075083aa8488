package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

// Nobody ends the pods of a node whose kubelet is dead: once all are evicted, and had their time, they keep it no longer.
func TestTheEvictedPodsOfADeadNodeDoNotKeepIt(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		ready   bool
		age     time.Duration
		evicted bool
		goes    bool
	}{
		"all evicted a minute ago":          {lifecycle.ReasonUnhealthy, false, time.Minute, true, true},
		"all evicted a moment ago":          {lifecycle.ReasonUnhealthy, false, time.Minute - 1, true, false},
		"one is not evicted":                {lifecycle.ReasonUnhealthy, false, time.Hour, false, false},
		"the node came back":                {lifecycle.ReasonUnhealthy, true, time.Minute, true, false},
		"it is released for another reason": {"Underused", false, time.Minute, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := in(draining)
			s.pods(2)
			s.seen.Pods[0].Terminating = c.evicted
			s.seen.PodsFresh = true
			setReady(s.seen.Node, c.ready)
			s.claim.Spec.Release = &v1alpha1.Release{Reason: c.reason, Since: *ago(s.now, c.age),
				Drain: &v1alpha1.Drain{Timeout: metav1.Duration{Duration: 2 * time.Hour}}}
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, lifecycle.ReasonPods)
			r := lifecycle.Step(s.claim, s.seen, s.now)
			require.NoError(t, r.Err)
			require.Equal(t, c.goes, r.Claim.Status.State == v1alpha1.ClaimReleasing, r.Claim.Status.Message)
		})
	}
}
