package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// joins has a machine's Node register; it takes no pods yet.
func (th *theatre) joins(claim, cpu string) {
	th.advance(claim, v1alpha1.ClaimStarting)
	th.node(claim, cpu)
}

// ready has a claim's node take pods.
func (th *theatre) ready(claim string) { th.advance(claim, v1alpha1.ClaimReady) }

func (th *theatre) advance(claim string, to v1alpha1.ClaimState) {
	synctest.Wait()
	th.mu.Lock()
	c := th.claims[claim].DeepCopy()
	th.mu.Unlock()
	c.Status.State, c.Status.NodeName = to, claim
	if to == v1alpha1.ClaimReady {
		c.Status.ReadyAt = new(metav1.NewMicroTime(time.Now()))
	}
	th.live.SetClaim(th.notebook.store(c))
}

func (th *theatre) claim(name string) *v1alpha1.NodeClaim {
	synctest.Wait()
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.claims[name]
}

// ordered is a cluster without a node and a machine that is on its way for a pod.
func ordered(t *testing.T) *theatre {
	th := newTheatre(t)
	th.pool(1)
	th.asks(pendingPod("wants", 0, "2"))
	return th
}

func TestAPodIsNominatedOnceWhenItsNodeTakesPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := ordered(t)
		defer th.start()()
		time.Sleep(5 * time.Second)
		th.joins("p-000", "4")
		time.Sleep(time.Minute)
		require.Empty(t, th.log(), "it still starts")
		th.ready("p-000")
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"nominate wants p-000", "bind wants p-000"}, th.log())
		require.Equal(t, []types.UID{"wants"}, th.claim("p-000").Status.Nominated)
		require.NotContains(t, th.told("wants"), "RoomAvailable", "the nomination was the wake-up")
		require.Zero(t, th.live.StrangerBound(), "nobody else's answer: the filter goes on")
	})
}

// The scheduler does not come: its own filters may refuse the node. It wipes the nomination, or leaves it.
func TestANominationIsNeverRepeated(t *testing.T) {
	// A nomination that is left counts as a hold for ten seconds.
	for name, woken := range map[string]time.Duration{"wiped": 5 * time.Second, "left": 15 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := ordered(t)
				th.silent = true
				stop := th.start()
				time.Sleep(5 * time.Second)
				th.joins("p-000", "4")
				th.ready("p-000")
				time.Sleep(2 * time.Second)
				require.Equal(t, []string{"nominate wants p-000"}, th.log())
				if name == "wiped" {
					require.NoError(t, th.change(v1alpha1.PodReference{Name: "wants", UID: "wants"}, func(p *corev1.Pod) {
						p.Status.NominatedNodeName = ""
					}))
				}
				time.Sleep(woken)
				require.Contains(t, th.told("wants"), "RoomAvailable", "it is woken instead")
				time.Sleep(30 * time.Second)
				require.Contains(t, th.told("wants"), "PoolLimit", "and in the end counted as refused there")
				stop()
				th.restart()
				th.live.SetClaim(th.claim("p-000"))
				defer th.start()()
				time.Sleep(30 * time.Second)
				require.Equal(t, []string{"nominate wants p-000"}, th.log())
			})
		})
	}
}

func TestOnlyWhoWouldGetTheRoomIsNominated(t *testing.T) {
	for name, c := range map[string]func(*theatre){
		"not while the filter is settling": func(th *theatre) {
			th.stage.Lock()
			defer th.stage.Unlock()
			th.unsettled = true
		},
		"not when a more important pod has the room": func(th *theatre) {
			th.asks(pendingPod("important", 100, "4"))
			require.Contains(th.t, th.log(), "bind important p-000")
		},
		"not when somebody else has nominated it before": func(th *theatre) {
			ref := v1alpha1.PodReference{Name: "wants", UID: "wants"}
			for _, node := range []string{"elsewhere", ""} {
				require.NoError(th.t, th.change(ref, func(p *corev1.Pod) { p.Status.NominatedNodeName = node }))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := ordered(t)
				th.planner.Settled = th.preemptor.Settled
				defer th.start()()
				time.Sleep(5 * time.Second)
				th.joins("p-000", "4")
				th.ready("p-000")
				c(th)
				time.Sleep(5 * time.Second)
				require.Zero(t, th.count("nominate wants p-000"))
			})
		})
	}
}

// Whoever comes first to a new node does not get the room that was ordered for another, unless it is more important.
func TestAnIntruderDoesNotTakeReservedRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := ordered(t)
		defer th.start()()
		time.Sleep(5 * time.Second)
		th.joins("p-000", "2")
		th.ready("p-000")
		th.asks(pendingPod("intruder", 0, "2"))
		time.Sleep(5 * time.Second)
		require.Contains(t, th.log(), "bind wants p-000")
		require.Zero(t, th.count("bind intruder p-000"))
	})
}
