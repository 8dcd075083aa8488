package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A pod that came a moment ago may need the node that is about to go.
func TestAPodIsUnheardOfUntilSomethingIsKnownOfIt(t *testing.T) {
	pending := func() *corev1.Pod { return makePod("a", "cpu", "1") }
	for name, c := range map[string]struct {
		then func(*scene)
		want bool
	}{
		"nothing was said":      {func(*scene) {}, true},
		"it has room":           {func(s *scene) { s.nodes(makeNode("n", "cpu", "4")); s.place(pending(), "n") }, false},
		"it lacks room":         {func(s *scene) { s.nodes(makeNode("n", "cpu", "500m")); s.place(pending(), "n") }, false},
		"its scheduler said so": {func(s *scene) { s.pods(unschedulable(pending())) }, false},
		"it was bound":          {func(s *scene) { p := pending(); p.Spec.NodeName = "n"; s.pods(p) }, false},
		"it is gone":            {func(s *scene) { s.ForgetPod("a") }, false},
		"another scheduler's pod": {func(s *scene) {
			s.ForgetPod("a")
			p := pending()
			p.UID, p.Spec.SchedulerName = "b", "theirs"
			s.pods(p)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.pods(pending())
			c.then(s)
			require.Equal(t, c.want, s.Unheard(start.Add(time.Second)))
			require.False(t, s.Unheard(start.Add(unheardFor)), "nobody will ever say anything of it")
		})
	}
}

// What a reopening node has room for is not bought: it takes a moment until its marks are off.
func TestAPlanCountsWithANodeThatOpensAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		want   Fate
	}{
		"nothing is off yet":                     {func(*corev1.Node) {}, Waits},
		"it is ready already, with the marks on": {func(*corev1.Node) {}, Waits},
		"the operator has cordoned it":           {func(n *corev1.Node) { n.Annotations = nil }, Unserved},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			n := tainted(makeNode("n", "cpu", "4"), reopeningTaint, corev1.TaintEffectNoSchedule)
			n = tainted(n, corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
			n.Spec.Unschedulable, n.Annotations = true, map[string]string{"muster.sh/cordoned": "true"}
			c.change(n)
			s.nodes(n)
			state := inState(makeClaim("a", "n"), "Draining")
			if name == "it is ready already, with the marks on" {
				state.Status.State = "Ready"
			}
			s.SetClaim(state)
			s.pods(unschedulable(makePod("a", "cpu", "3")))
			require.Equal(t, c.want, NewPlan(s.View(), start).Outcomes["a"].Fate)
		})
	}
}

const reopeningTaint = "muster.sh/releasing"
