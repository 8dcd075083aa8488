package experience_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// A shape was learned from a Node that only had the right name, and pods were too large for the pool for ever after.
func TestM18AShapeIsLearnedFromAProvenNodeOnly(t *testing.T) {
	type seen struct {
		claim *v1alpha1.NodeClaim
		node  *corev1.Node
	}
	for name, c := range map[string]struct {
		change func(s seen) []*corev1.Node // more Nodes
		proven bool
	}{
		"by its provider ID": {func(s seen) []*corev1.Node {
			s.claim.Status.ProviderID, s.node.Spec.ProviderID = "sim://1", "sim://1"
			return nil
		}, true},
		"by its system UUID, in any case": {func(s seen) []*corev1.Node {
			s.claim.Status.SystemUUID, s.node.Status.NodeInfo.SystemUUID = "4C4C-A", "4c4c-a"
			return nil
		}, true},
		"by its name, where nobody knows anything stronger": {func(seen) []*corev1.Node { return nil }, true},
		"by its name, and the claim knows a provider ID": {func(s seen) []*corev1.Node {
			s.claim.Status.ProviderID = "sim://1"
			return nil
		}, false},
		"by its name, and the claim knows a UUID": {func(s seen) []*corev1.Node {
			s.claim.Status.SystemUUID = "4C4C-A"
			return nil
		}, false},
		"by its name, and the Node has a UUID": {func(s seen) []*corev1.Node {
			s.node.Status.NodeInfo.SystemUUID = "4C4C-A"
			return nil
		}, false},
		"by its provider ID, and its UUID is another": {func(s seen) []*corev1.Node {
			s.claim.Status.ProviderID, s.node.Spec.ProviderID = "sim://1", "sim://1"
			s.claim.Status.SystemUUID, s.node.Status.NodeInfo.SystemUUID = "4C4C-A", "4C4C-B"
			return nil
		}, false},
		"marked for another claim": {func(s seen) []*corev1.Node {
			s.claim.Status.ProviderID, s.node.Spec.ProviderID = "sim://1", "sim://1"
			s.node.Annotations[v1alpha1.RegisteredAnnotation] = "of an older claim"
			return nil
		}, false},
		"marked for no claim yet": {func(s seen) []*corev1.Node {
			s.claim.Status.ProviderID, s.node.Spec.ProviderID = "sim://1", "sim://1"
			delete(s.node.Annotations, v1alpha1.RegisteredAnnotation)
			return nil
		}, false},
		"one of two Nodes with its UUID": {func(s seen) []*corev1.Node {
			s.claim.Status.SystemUUID, s.node.Status.NodeInfo.SystemUUID = "4C4C-A", "4C4C-A"
			twin := marked(object.Node("renamed", "cpu", "4", "memory", "20Gi"))
			twin.Status.NodeInfo.SystemUUID, twin.Annotations[v1alpha1.RegisteredAnnotation] = "4C4C-A", string(s.claim.UID)
			return []*corev1.Node{twin}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := studied(largeMemory())
			claim := object.InState(capacity.NewClaim(st.pool, st.pool.Spec.Template.Shapes[0], 0), v1alpha1.ClaimReady)
			claim.UID, claim.Status.NodeName, claim.Status.ReadyAt = types.UID(claim.Name), claim.Name, object.Micro(st.Now)
			node := marked(object.Node(claim.Name, "cpu", "4", "memory", "20Gi"))
			more := c.change(seen{claim, node})
			st.SetClaim(claim)
			st.Nodes(append(more, node)...)
			learned := st.recorded()
			if !c.proven {
				require.Empty(t, learned)
				return
			}
			require.Len(t, learned, 1)
			require.Equal(t, "20Gi", memoryOf(learned[0].Allocatable))
		})
	}
}

// up is a node of the pool that offers so much memory.
func (st *studies) up(slot int, memory string) {
	claim := capacity.NewClaim(st.pool, st.pool.Spec.Template.Shapes[0], slot)
	st.comesUp(claim, memory)
	st.ready(claim.Name, memory)
}

func (st *studies) gone(slot int) {
	name := capacity.SlotName("p", slot)
	st.ForgetNode(name)
	st.ForgetClaim(name, types.UID(name))
}

func (st *studies) wants(pod, memory string) int {
	st.Pods(object.Unscheduled(object.Pod(pod, "cpu", "1", "memory", memory), corev1.PodReasonUnschedulable))
	return len(st.plan().Creates)
}

// One node that offers more, proven as the others are, is enough to forget what another one offered.
func TestM18ANodeThatOffersMoreContradictsOneThatOffersLess(t *testing.T) {
	st := studied(largeMemory())
	st.up(0, "20Gi")
	require.Equal(t, "20Gi", memoryOf(st.recorded()[0].Allocatable))
	require.Zero(t, st.wants("large", "28Gi"), "the only node there is says that it does not fit")
	st.up(1, "30Gi")
	require.Equal(t, "30Gi", memoryOf(st.recorded()[0].Allocatable), "while the other one is there, too")
	st.gone(1)
	require.Equal(t, "20Gi", memoryOf(st.recorded()[0].Allocatable), "it was alone with that")

	st.up(2, "30Gi")
	st.up(3, "30Gi")
	require.Equal(t, "30Gi", memoryOf(st.recorded()[0].Allocatable))
	st.gone(2)
	st.gone(3)
	require.Equal(t, "30Gi", memoryOf(st.recorded()[0].Allocatable), "one node does not overrule two")
	require.Equal(t, 1, st.wants("large", "28Gi"))
	st.up(4, "20Gi")
	require.Equal(t, "20Gi", memoryOf(st.recorded()[0].Allocatable), "two that say the same do")
}

// What a single node says makes pods wait for a day. Then one machine is bought to see: it confirms the first one, or shows that it was
// bad.
func TestM18OneBadNodeIsDoubtedAfterADay(t *testing.T) {
	for another, want := range map[string]string{"20Gi": "20Gi", "30Gi": "30Gi"} {
		t.Run(another, func(t *testing.T) {
			st := studied(largeMemory())
			st.up(0, "20Gi")
			st.recorded()
			require.Zero(t, st.wants("large", "28Gi"))
			st.Now = st.Now.Add(24*time.Hour - time.Second)
			st.recorded()
			require.Zero(t, st.wants("large", "28Gi"))
			st.Now = st.Now.Add(time.Second)
			st.recorded()
			require.Equal(t, 1, st.wants("large", "28Gi"), "the bad node is still there")
			st.up(1, another)
			require.Equal(t, want, memoryOf(st.recorded()[0].Allocatable))
			if another == "20Gi" {
				require.Zero(t, st.wants("large", "28Gi"), "two agree")
				st.gone(1)
				st.Now = st.Now.Add(48 * time.Hour)
				st.recorded()
				require.Zero(t, st.wants("large", "28Gi"), "that two agreed is not forgotten while one of them is there")
			}
		})
	}
}

func TestM18WhatNodesSaidThatAreGoneIsForgottenAfterAMonth(t *testing.T) {
	st := studied(largeMemory())
	st.up(0, "20Gi")
	st.up(1, "20Gi")
	st.recorded()
	st.gone(0)
	st.gone(1)
	st.Now = st.Now.Add(30*24*time.Hour - time.Second)
	require.Len(t, st.recorded(), 1)
	require.Zero(t, st.wants("large", "28Gi"))
	st.Now = st.Now.Add(time.Second)
	require.Empty(t, st.recorded())
	require.Equal(t, 1, st.wants("large", "28Gi"))
}

// kubectl annotate nodepool p --overwrite muster.sh/forget-shapes=...
func TestM18APersonCanHaveShapesForgotten(t *testing.T) {
	st := studied(largeMemory())
	st.up(0, "20Gi")
	st.up(1, "20Gi")
	st.recorded()
	forget := func(word string) {
		st.pool = st.pool.DeepCopy()
		st.pool.Annotations = map[string]string{v1alpha1.ForgetShapesAnnotation: word}
		st.SetPool(st.pool)
		st.Now = st.Now.Add(time.Second)
	}
	forget("bad board")
	require.Equal(t, 1, st.wants("large", "28Gi"), "at once")
	require.Empty(t, st.recorded(), "also of the nodes that are there")
	require.Equal(t, "bad board", st.pool.Status.Forgotten.Value)
	st.Now = st.Now.Add(time.Hour)
	require.Empty(t, st.recorded(), "and later")
	st.up(2, "30Gi")
	require.Equal(t, "30Gi", memoryOf(st.recorded()[0].Allocatable), "nodes that come after it are heard")
	forget("bad board")
	require.NotEmpty(t, st.recorded(), "the same word again says nothing")
	forget("another board")
	require.Empty(t, st.recorded())
}

// What was learned, or forgotten, by a clock that was ten years ahead is as old as the day on which it is set back.
func TestM19WhatWasLearnedByAClockThatWasAhead(t *testing.T) {
	const ahead = 10 * 365 * 24 * time.Hour
	st := studied(largeMemory())
	st.Now = st.Now.Add(ahead)
	st.up(0, "20Gi")
	st.up(1, "20Gi")
	st.recorded()
	st.gone(0)
	st.gone(1)
	st.Now = st.Now.Add(-ahead)
	require.Len(t, st.recorded(), 1)
	st.Now = st.Now.Add(30 * 24 * time.Hour)
	require.Empty(t, st.recorded())

	st.Now = st.Now.Add(ahead)
	st.pool = st.pool.DeepCopy()
	st.pool.Annotations = map[string]string{v1alpha1.ForgetShapesAnnotation: "bad board"}
	st.SetPool(st.pool)
	require.Empty(t, st.recorded())
	st.Now = st.Now.Add(-ahead)
	require.Empty(t, st.recorded())
	st.Now = st.Now.Add(time.Second)
	st.up(2, "30Gi")
	require.Len(t, st.recorded(), 1, "a node that comes after it is heard")
}
