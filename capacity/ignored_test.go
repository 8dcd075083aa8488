package capacity

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity/internal/object"
)

// A pod whose last attempt ended in an error, or that stands in a long queue, is not asked about for a while however
// often it is woken. Buying a machine for it then would be buying for room that is there.
func TestWakeUpsAreIgnoredOnlyAfterAWhileAndOnlyByAnIdleScheduler(t *testing.T) {
	cases := []struct {
		name  string
		woken time.Duration // for how long, once a second
		busy  bool          // other pods are asked about meanwhile
		want  bool          // the room is taken for refused
	}{
		{"a back-off takes longer than two wake-ups", 9 * time.Second, false, false},
		{"an idle scheduler that still did not ask", 11 * time.Second, false, true},
		{"a busy scheduler may still come to it", 50 * time.Second, true, false},
		{"no queue is that long", 61 * time.Second, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := makeLive()
			l.SetPod(object.Pod("waits", "cpu", "1"), object.Start)
			require.True(t, l.Want("waits", object.Start))
			for after := time.Duration(0); after <= c.woken; after += time.Second {
				now := object.Start.Add(after)
				if c.busy {
					other := Call{Number: uint64(after/time.Second) + 1, Pod: PodOf(object.Pod("other", "cpu", "1")), Now: now}
					_, err := l.Place(context.Background(), other)
					require.NoError(t, err)
				}
				l.Nudged("waits", now)
			}
			until := l.ledger.byPod["waits"].RefusedUntil
			require.Equal(t, c.want, !until.IsZero())
			if c.want {
				require.Equal(t, object.Start, until, "nodes that joined after the first wake-up were not ignored")
			}
		})
	}
}

// A scheduler that is stopped, or cannot reach the API server, has not ignored anything: once it is back it has the time
// that it always has.
func TestWakeUpsAreNotIgnoredByASchedulerThatIsNotThere(t *testing.T) {
	l := makeLive()
	l.SetPod(object.Pod("waits", "cpu", "1"), object.Start)
	require.True(t, l.Want("waits", object.Start))
	refusedAfter := func(from, seconds int, alive bool) bool {
		for i := range seconds {
			now := object.At(from + i)
			if alive && i%2 == 0 {
				l.SchedulerSeen(now)
			}
			l.Nudged("waits", now)
		}
		return !l.ledger.byPod["waits"].RefusedUntil.IsZero()
	}
	require.False(t, refusedAfter(0, 5, true))
	require.False(t, refusedAfter(5, 300, false), "it is gone")
	require.False(t, refusedAfter(305, 5, true), "it is back, and has its queue to look through")
	require.True(t, refusedAfter(310, 8, true))
}

// The scheduler asks with a snapshot that may be older than what Muster knows: a node that has just joined is missing
// from the call without having been refused.
func TestANodeThatJoinedJustBeforeACallIsNotRefusedByItsAbsence(t *testing.T) {
	l := makeLive()
	l.SetNode(object.Node("old", "cpu", "500m", "memory", "8Gi", "pods", "10"), object.Start)
	l.SetNode(object.Node("small", "cpu", "500m", "memory", "8Gi", "pods", "10"), object.Start)
	l.SetPod(object.Pod("a", "cpu", "1"), object.Start)
	joined := object.Start.Add(time.Minute)
	l.SetNode(object.Node("new", "cpu", "4", "memory", "8Gi", "pods", "10"), joined)
	ask := func(after time.Duration) *Shortfall {
		now := joined.Add(after)
		_, err := l.Place(context.Background(), Call{Number: uint64(now.UnixNano()), Pod: PodOf(object.Pod("a", "cpu", "1")),
			Nodes: []string{"small", "small2"}, Now: now})
		require.NoError(t, err)
		return l.ledger.byPod["a"]
	}
	s := ask(10 * time.Millisecond)
	require.False(t, s.RefusesNode("new", joined), "the scheduler may not have seen it yet")
	require.True(t, s.RefusesNode("old", object.Start))
	require.True(t, ask(snapshotLag).RefusesNode("new", joined), "by now it has")
}
