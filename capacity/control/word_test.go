package control_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// burnt is a claim whose provider does not come back, in Releasing, with the Node of a kubelet that is dead.
func burnt(t *testing.T) (a *attacked, judged map[gate.Act]int) {
	a = newAttacked(t)
	judged = map[gate.Act]int{}
	a.loop.Gate.Observe = func(j control.Judgement) { judged[j.Act]++ }
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.runs(5 * time.Second)
	a.silent = provider.ErrUnknown
	a.release("p-000", 0)
	a.runs(2 * time.Minute)
	dead := a.nodes[0].DeepCopy()
	dead.Status.Conditions[0].Status = corev1.ConditionUnknown
	a.nodes[0] = dead
	c := a.claims["p-000"].DeepCopy()
	c.Annotations = map[string]string{v1alpha1.ConfirmGoneAnnotation: "vm-p-000/1 ann"}
	a.live.SetClaim(a.store(c))
	return a, judged
}

// The word stands for the provider's also where the Node of the machine is deleted: the claim would keep its slot for ever otherwise.
func TestAPersonsWordEndsTheNodeOfTheMachineToo(t *testing.T) {
	a, judged := burnt(t)
	a.runs(time.Minute)
	require.Empty(t, a.deleted, "the provider is not asked")
	require.Equal(t, []string{"p-000"}, a.removed)
	require.Equal(t, 1, judged[gate.DeleteNode], "the word is good for one act")
	require.Empty(t, a.claims["p-000"].Finalizers, "the slot is free")
}

// Where the Node may not be deleted for another reason, the gate is asked again after a while, not at once.
func TestARefusalIsNotAskedAboutWithoutAPauseBecauseOfAWord(t *testing.T) {
	a, judged := burnt(t)
	a.freeze = map[string]string{"releases": "p"}
	before := judged[gate.DeleteNode]
	a.runs(time.Minute)
	require.Empty(t, a.removed)
	require.LessOrEqual(t, judged[gate.DeleteNode]-before, 60, "once each time that the claim is looked at, which is once a second here")
	a.freeze = nil
	a.runs(time.Minute)
	require.Equal(t, []string{"p-000"}, a.removed)
}
