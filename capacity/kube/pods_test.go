package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
)

func podNamed(name, uid, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid), ResourceVersion: version},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{
			Name:      "c",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
}

// used is how much cpu is counted on the one node, in milli CPU.
func used(t *testing.T, live *capacity.Live) int64 {
	t.Helper()
	v := live.View()
	require.Len(t, v.Nodes, 1)
	return v.Nodes[0].Used.MilliCPU
}

func newStore(t *testing.T) (*podStore, *capacity.Live) {
	t.Helper()
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	live.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, time.Now())
	return newPodStore(live, time.Now), live
}

func TestPodsGoStraightIntoTheView(t *testing.T) {
	store, live := newStore(t)
	require.False(t, store.HasSynced())
	gather := store.Transformer()
	var list []any
	for _, pod := range []*corev1.Pod{podNamed("a", "1", "1"), podNamed("b", "2", "2")} {
		o, err := gather(pod)
		require.NoError(t, err)
		require.NotEqual(t, pod, o, "the list is gathered in compiled form")
		list = append(list, o)
	}
	require.NoError(t, store.Replace(list, "2"))
	require.True(t, store.HasSynced())
	require.Equal(t, int64(2000), used(t, live))

	require.NoError(t, store.Add(podNamed("c", "3", "3")))
	require.Equal(t, int64(3000), used(t, live))
	bigger := podNamed("c", "3", "4")
	bigger.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("5")
	require.NoError(t, store.Update(bigger))
	require.Equal(t, int64(7000), used(t, live))
	require.NoError(t, store.Delete(podNamed("a", "1", "5")))
	require.Equal(t, int64(6000), used(t, live))
}

func TestAListAfterAGapDropsWhatIsNotInIt(t *testing.T) {
	store, live := newStore(t)
	require.NoError(t, store.Replace([]any{podNamed("a", "1", "1"), podNamed("b", "2", "2")}, "2"))
	require.NoError(t, store.Replace([]any{podNamed("b", "2", "2")}, "9"))
	require.Equal(t, int64(1000), used(t, live))
	require.Nil(t, live.Pod("1"))
}

func TestAPodThatTookOverANameReplacesTheOneBefore(t *testing.T) {
	store, live := newStore(t)
	require.NoError(t, store.Add(podNamed("web-0", "old", "1")))
	require.NoError(t, store.Add(podNamed("web-0", "new", "7")))
	require.Equal(t, int64(1000), used(t, live), "the end of the old one fell into a gap of the watch")
	require.Nil(t, live.Pod("old"))
	require.NotNil(t, live.Pod("new"))
}

func TestWhatIsNoPodIsAnError(t *testing.T) {
	store, _ := newStore(t)
	require.ErrorContains(t, store.Add(&corev1.Node{}), "*v1.Node")
}

func TestWhoeverRecordsHearsOfEveryPod(t *testing.T) {
	store, _ := newStore(t)
	var heard []string
	store.observe = func(o metav1.Object, gone bool) {
		heard = append(heard, map[bool]string{false: "+", true: "-"}[gone]+string(o.GetUID()))
	}
	first, err := store.Transformer()(podNamed("a", "1", "1"))
	require.NoError(t, err)
	require.NoError(t, store.Replace([]any{first}, "1"))
	require.NoError(t, store.Update(podNamed("b", "2", "2")))
	require.NoError(t, store.Update(podNamed("b", "3", "3")))
	require.NoError(t, store.Delete(podNamed("a", "1", "4")))
	require.NoError(t, store.Replace(nil, "9"))
	require.Equal(t, []string{"+1", "+2", "+3", "-2", "+1", "-1", "-3"}, heard, "the end of each is told, seen or not")
}
