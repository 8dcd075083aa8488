package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
)

var brakeStart = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func ownedPod(uid, owner string) *capacity.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)}}
	if owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: types.UID(owner), Controller: new(true)}}
	}
	return capacity.PodOf(p)
}

func TestARefusalIsWaitedOutLongerEachTime(t *testing.T) {
	b, p, why := brakes{}, ownedPod("p", ""), capacity.Reason{Code: capacity.CodeProtected}
	now := brakeStart
	var waits []time.Duration
	for range 8 {
		b.block(p, "n", why, now)
		wait := time.Duration(0)
		for b.nodes(p, now.Add(wait)).Has("n") {
			wait += time.Second
		}
		require.Equal(t, why, b.told(p, now))
		require.Zero(t, b.told(p, now.Add(wait)))
		waits = append(waits, wait)
		now = now.Add(wait)
		b.forget(now)
	}
	require.Equal(t, 10*time.Second, waits[0])
	require.IsNonDecreasing(t, waits[:5])
	require.LessOrEqual(t, waits[7], 5*time.Minute)
	require.Greater(t, waits[7], 3*time.Minute)

	b.forget(now.Add(time.Hour))
	require.Empty(t, b, "and forgotten in the end")
}

func TestPodsThatAreMadeAgainShareTheirBrakes(t *testing.T) {
	b := brakes{}
	b.vain(ownedPod("p-1", "set"), "a", brakeStart)
	require.False(t, b.stopped(ownedPod("p-2", "set")))
	b.vain(ownedPod("p-2", "set"), "b", brakeStart.Add(time.Minute))
	again := ownedPod("p-3", "set")
	require.True(t, b.stopped(again))
	require.Equal(t, capacity.CodePreemptVain, b.told(again, brakeStart).Code)
	require.Equal(t, sets.New("a", "b"), b.nodes(again, brakeStart.Add(time.Minute)))
	require.False(t, b.stopped(ownedPod("other", "other-set")))
	require.False(t, b.stopped(ownedPod("bare", "")))

	b.forget(brakeStart.Add(time.Hour))
	require.False(t, b.stopped(again), "one of the two is an hour old")
	b.vain(again, "c", brakeStart.Add(time.Hour))
	require.True(t, b.stopped(again))
	b.clear(again)
	require.False(t, b.stopped(again), "it has taken room at last")
}
