package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
)

func newTestKube() (*kube, *[]change) {
	a := newAPI(&agenda{now: Zero}, 1)
	var changes []change
	a.watch(0, func(c change) { changes = append(changes, c) })
	k := &kube{api: a, record: func(control.Subject, bool, string, string) {}}
	k.evict = func(p *corev1.Pod) { a.removePod(p.UID) }
	return k, &changes
}

func TestClaimsAreVersioned(t *testing.T) {
	k, changes := newTestKube()
	first, err := k.CreateClaim(t.Context(), &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "general-000", Finalizers: []string{v1alpha1.ClaimFinalizer}},
		Status:     v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady},
	})
	require.NoError(t, err)
	require.Empty(t, first.Status.State, "a status is not created")
	_, err = k.CreateClaim(t.Context(), first)
	require.True(t, apierrors.IsAlreadyExists(err))

	status := first.DeepCopy()
	status.Status.State, status.Labels = v1alpha1.ClaimLaunching, map[string]string{"a": "b"}
	second, err := k.UpdateClaimStatus(t.Context(), status)
	require.NoError(t, err)
	require.Empty(t, second.Labels, "the status subresource writes the status only")
	_, err = k.UpdateClaim(t.Context(), first)
	require.True(t, apierrors.IsConflict(err), "an old version")

	before := len(*changes)
	same, err := k.UpdateClaimStatus(t.Context(), second.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, second.ResourceVersion, same.ResourceVersion)
	require.Len(t, *changes, before, "a write that changes nothing is told to nobody")
}

func TestFinalizersKeepClaims(t *testing.T) {
	k, changes := newTestKube()
	c, err := k.CreateClaim(t.Context(), &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "general-000", Finalizers: []string{v1alpha1.ClaimFinalizer}},
	})
	require.NoError(t, err)
	require.True(t, apierrors.IsConflict(k.DeleteClaim(t.Context(), c.Name, "another")))
	require.NoError(t, k.DeleteClaim(t.Context(), c.Name, c.UID))
	kept := k.claims["general-000"]
	require.NotNil(t, kept)
	require.NotNil(t, kept.DeletionTimestamp)

	kept = kept.DeepCopy()
	kept.Finalizers = nil
	_, err = k.UpdateClaim(t.Context(), kept)
	require.NoError(t, err)
	require.Empty(t, k.claims)
	require.True(t, (*changes)[len(*changes)-1].gone())
	require.True(t, apierrors.IsNotFound(k.DeleteClaim(t.Context(), c.Name, c.UID)))
}

func TestNodesAreWrittenOnTheVersionThatWasRead(t *testing.T) {
	k, _ := newTestKube()
	k.createNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	read := k.nodes["n"]
	want := read.DeepCopy()
	want.Spec.Unschedulable, want.Status.Phase = true, corev1.NodeRunning
	require.NoError(t, k.UpdateNode(t.Context(), read, want))
	require.True(t, k.nodes["n"].Spec.Unschedulable)
	require.Empty(t, k.nodes["n"].Status.Phase, "the status is the kubelet's")
	require.True(t, apierrors.IsConflict(k.UpdateNode(t.Context(), read, want)))
	gone := func(name string, uid types.UID) error {
		proof := gatetest.Proof(t, gate.DeleteNode, gate.Subject{Node: name}, gate.Identity{}, k.agenda.now)
		return k.DeleteNode(t.Context(), name, uid, proof)
	}
	require.True(t, apierrors.IsNotFound(gone("m", read.UID)))
	require.True(t, apierrors.IsConflict(gone("n", "another")))
	require.ErrorIs(t, k.DeleteNode(t.Context(), "n", read.UID, gate.Proof{}), gate.ErrNoProof)
}

func TestConditionsHaveWholeSeconds(t *testing.T) {
	k, changes := newTestKube()
	p := k.createPod(pod("p", "1", "1Gi"))
	ref := v1alpha1.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	c := corev1.PodCondition{Type: v1alpha1.CapacityCondition, LastProbeTime: metav1.NewTime(Zero.Add(100 * time.Millisecond))}
	require.NoError(t, k.SetPodCondition(t.Context(), ref, c))
	before := len(*changes)
	c.LastProbeTime = metav1.NewTime(Zero.Add(900 * time.Millisecond))
	require.NoError(t, k.SetPodCondition(t.Context(), ref, c))
	require.Len(t, *changes, before, "within one second nothing changes")
	c.LastProbeTime = metav1.NewTime(Zero.Add(time.Second))
	require.NoError(t, k.SetPodCondition(t.Context(), ref, c))
	require.Len(t, *changes, before+1)
	ref.UID = "another"
	require.True(t, apierrors.IsConflict(k.SetPodCondition(t.Context(), ref, c)))
	require.True(t, apierrors.IsConflict(k.Evict(t.Context(), ref, gatetest.Pods(t, gate.Evict, "n", k.agenda.now, ref.UID))))
}

func TestTakenPodNamesAreNumbered(t *testing.T) {
	k, _ := newTestKube()
	k.createPod(pod("p", "1", "1Gi"))
	require.Equal(t, "p-2", k.createPod(pod("p", "1", "1Gi")).Name)
	require.Equal(t, "p-3", k.createPod(pod("p", "1", "1Gi")).Name)
}
