package stories

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// killings are all moments between an intent and its record: before and after each request that changes something.
func killings(requests ...snare) []snare {
	var all []snare
	for _, r := range requests {
		before, after := r, r
		after.after = true
		all = append(all, before, after)
	}
	return all
}

// TestMusterKilledAroundEveryChangeOnProxmox: a request is held before it is carried out, or its answer is, and Muster is
// killed there; it starts again and knows nothing. Each pod gets its machine, and there never is a second one; each machine
// goes, and none is left.
func TestMusterKilledAroundEveryChangeOnProxmox(t *testing.T) {
	creating := killings(
		snare{method: http.MethodGet, suffix: "/cluster/resources"}, // nothing is reserved, or the number is not written down
		snare{method: http.MethodPost, suffix: "/clone"},
		snare{method: http.MethodGet, suffix: "/status"}, // of the clone's task
		snare{method: http.MethodPut, suffix: "/config"},
		snare{method: http.MethodPost, suffix: "/status/start"},
	)
	s := stage.New(t, kit)
	l := newLab(s)
	s.Watch(l)
	pool := labNodes(int32(len(creating)))
	pool.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{}}
	s.Apply(pool)
	replica := s.Place(stage.ReplicaOptions{Flags: []string{"--settle=1s"}})

	pods := l.madeThrough(replica, creating, nil)

	removing := killings(snare{method: http.MethodPost, suffix: "/status/stop"}, snare{method: http.MethodGet, suffix: "/status"},
		snare{method: http.MethodDelete, suffix: ""})
	for n, at := range removing {
		bound, err := s.Get(pods[n])
		require.NoError(t, err)
		victim := s.NodeOf(bound).Spec.ProviderID
		caught := l.trap.lay(at)
		s.Delete(pods[n])
		l.killedAt(replica, at, caught)
		took := s.Await(soon, "the machine of "+pods[n].Name+" to go", func() error {
			return atLeast(n+1, len(creating)-len(l.ours()))
		})
		for id := range l.ours() {
			require.NotEqual(t, victim, fmt.Sprintf("proxmox://lab/%d", id), "another machine went")
		}
		t.Logf("killed %s: the machine was gone %s later", at, took.Round(100*time.Millisecond))
	}
	s.AwaitClaims(soon, "lab", len(creating)-len(removing), v1alpha1.ClaimReady)
	s.WholeAndPaired()
	require.NoError(t, s.Running(pods[len(removing):]...), "the others never noticed")
	l.othersUntouched()
	keepsSecret(s, replica, labCanary)
}

// madeThrough makes a pod for each of these moments, and kills Muster there: each pod runs, on one machine more. Settled, where there is
// one, says what is not yet as it is to be after each of them.
func (l *lab) madeThrough(replica *stage.Replica, moments []snare, settled func() error) (pods []*corev1.Pod) {
	s := l.s
	s.T.Helper()
	known := sets.New[int]()
	for n, at := range moments {
		caught := l.trap.lay(at)
		pods = append(pods, s.Create(s.Pod(fmt.Sprintf("work-%d", n), stage.Resources("cpu", "3")))...)
		l.killedAt(replica, at, caught)
		took := s.AwaitRunning(soon, pods...)
		s.T.Logf("killed %s: the pod ran %s later", at, took.Round(100*time.Millisecond))
		if settled != nil {
			took = s.Await(soon, "nothing to be left of the making", settled)
			s.T.Logf("nothing was left after %s more", took.Round(100*time.Millisecond))
		}
		now := sets.KeySet(l.ours())
		require.Len(s.T, now.Difference(known), 1, "one machine more after %s", at)
		known = now
	}
	s.WholeAndPaired()
	l.sameIdentities()
	return pods
}

// killedAt kills Muster when the request is held, and starts it again.
func (l *lab) killedAt(replica *stage.Replica, at snare, caught <-chan struct{}) {
	l.s.T.Helper()
	select {
	case <-caught:
	case <-time.After(soon):
		require.Fail(l.s.T, "no request came to be held", at.String())
	}
	replica.Crash()
}

func (s snare) String() string {
	text := fmt.Sprintf("%s %s …%s%s", map[bool]string{true: "after", false: "before"}[s.after], s.method, s.part, s.suffix)
	if s.skip > 0 {
		text += fmt.Sprintf(" (the %d.)", s.skip+1)
	}
	return text
}
