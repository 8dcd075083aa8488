package experience_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/experience"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/internal/scene"
	"github.com/muster-sh/muster/capacity/planner"
)

// trial is a pool of machines of 4 CPUs and pods that wait for one.
type trial struct {
	*scene.Scene
	pool   *v1alpha1.NodePool
	passed map[types.UID]time.Time // until when the scheduler asked about no node for a pod
}

func newTrial(pool *v1alpha1.NodePool, now time.Time) *trial {
	tr := &trial{Scene: scene.New(), pool: pool, passed: map[types.UID]time.Time{}}
	tr.Now = now
	tr.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}})
	tr.SetPool(pool)
	return tr
}

func fourCores() *v1alpha1.NodePool {
	return object.Pool("p", 9, object.Shape("m", "cpu", "4", "memory", "8Gi"))
}

// refused is a pod that the scheduler's own filters refuse everywhere.
func (tr *trial) refused(name string, pairs ...string) {
	tr.Pods(object.Unscheduled(object.Pod(name, pairs...), corev1.PodReasonUnschedulable))
}

// buy carries a plan out: its machines come up at once, with what was promised.
func (tr *trial) buy() []string {
	var names []string
	for _, c := range planner.Plan(tr.View(), tr.Now).Creates {
		tr.comeUp(c.Claim)
		names = append(names, c.Claim.Name)
	}
	return names
}

func (tr *trial) comeUp(c *v1alpha1.NodeClaim) {
	c = c.DeepCopy()
	c.UID, c.CreationTimestamp = types.UID(fmt.Sprint(c.Name, tr.Now.UnixNano())), metav1.NewTime(tr.Now)
	c.Status.State, c.Status.NodeName, c.Status.ReadyAt = v1alpha1.ClaimReady, c.Name, object.Micro(tr.Now)
	tr.SetClaim(c)
	tr.Nodes(object.Node(c.Name, "cpu", "4", "memory", "8Gi"))
}

// review takes the pool's circuits over, as the API server keeps them, and strikes off what is decided.
func (tr *trial) review() []v1alpha1.Circuit {
	v := tr.View()
	r := experience.Of(v, tr.Now)
	tr.pool = tr.pool.DeepCopy()
	tr.pool.Status.Template, tr.pool.Status.Circuits = v.Template(tr.pool).Hash, r.Circuits["p"]
	tr.SetPool(tr.pool)
	for _, c := range v.Claims {
		next := c.Object.DeepCopy()
		next.Spec.OrderedFor = slices.DeleteFunc(next.Spec.OrderedFor, func(key string) bool {
			return slices.Contains(r.Decided[c.Object.Name], key)
		})
		tr.SetClaim(next)
	}
	return tr.pool.Status.Circuits
}

// pass lets time go by, in which the scheduler is woken for the pods and asks about none.
func (tr *trial) pass(d time.Duration) {
	tr.Now = tr.Now.Add(d)
	tr.Expire(tr.Now)
	for _, s := range tr.View().Shortfalls {
		tr.passed[s.Pod.UID] = tr.Now
	}
}

// View is that of the scene, with what the scheduler did not do.
func (tr *trial) View() *capacity.View {
	v := tr.Scene.View()
	for _, s := range v.Shortfalls {
		s.RefusedUntil = tr.passed[s.Pod.UID]
	}
	return v
}

// fail has two machines come up in vain.
func (tr *trial) fail() {
	for range experience.VainMachines {
		tr.buy()
		tr.pass(experience.VainAfter)
		tr.review()
	}
}

func TestTwoMachinesInVainOpenTheCircuit(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "1")
	require.Equal(t, []string{"p-000"}, tr.buy())
	tr.pass(experience.VainAfter - time.Nanosecond)
	require.Empty(t, tr.review(), "it still may take it")
	tr.pass(time.Nanosecond)
	require.Len(t, tr.review(), 1)
	require.False(t, tr.pool.Status.Circuits[0].Open())

	require.Equal(t, []string{"p-001"}, tr.buy(), "one may be bad luck")
	tr.pass(experience.VainAfter)
	require.Empty(t, tr.buy(), "judged before the status says so")
	open := tr.review()[0]
	require.True(t, open.Open())
	require.Equal(t, "default/a", open.Example)
	require.Equal(t, string(capacity.CodeRefused), open.Reason)
	plan := planner.Plan(tr.View(), tr.Now)
	require.Empty(t, plan.Creates)
	require.Equal(t, capacity.CodeBought, plan.Outcomes["a"].Reason.Code)
	require.Contains(t, plan.Outcomes["a"].String(), "p-001: node(s) refused by the scheduler's own filters")
	require.Equal(t, experience.ProbeEvery, plan.Next)
}

func TestAnOpenCircuitOutlivesItsMachinesAndARestart(t *testing.T) {
	old := newTrial(fourCores(), object.Start)
	old.refused("a", "cpu", "1")
	old.fail()
	tr := newTrial(old.pool, old.Now)
	tr.refused("b", "cpu", "1") // the same kind of pods under another UID
	require.Empty(t, tr.buy())
	tr.refused("c", "cpu", "2")
	require.Equal(t, []string{"p-000"}, tr.buy(), "another kind of pods is none of it")
	tr.ForgetPod("c")
	tr.ForgetClaim("p-000", tr.Claim("p-000").UID)
	tr.ForgetNode("p-000")

	tr.pass(experience.ProbeEvery - time.Nanosecond)
	require.Empty(t, tr.buy())
	tr.pass(time.Nanosecond)
	for i := range 5 {
		tr.refused(fmt.Sprint("d", i), "cpu", "1")
	}
	require.Len(t, tr.buy(), 1, "one probe, however many wait")
	require.Empty(t, tr.buy(), "it is under way")
	tr.pass(experience.ProbeEvery / 2)
	tr.review()
	require.Empty(t, tr.buy(), "one in an hour")
	tr.pass(experience.ProbeEvery / 2)
	require.Len(t, tr.buy(), 1)
}

func TestAMachineThatTakesSuchAPodClosesTheCircuit(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "1")
	tr.fail()
	tr.Pods(object.Bound(object.Pod("b", "cpu", "1"), "p-001"))
	require.Empty(t, tr.review())
	tr.ForgetPod("b")
	require.NotEmpty(t, tr.buy())
}

func TestAnOlderMachineThatTookSuchAPodClosesNothing(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "1")
	tr.buy()
	tr.Pods(object.Bound(object.Pod("a", "cpu", "1"), "p-000"))
	tr.pass(time.Hour)
	tr.refused("b", "cpu", "1")
	tr.pass(time.Second)
	tr.fail()
	require.True(t, tr.pool.Status.Circuits[0].Open(), "some keep apart from their like")
	require.Empty(t, tr.buy())
}

func TestAnotherTemplateClosesTheCircuit(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "1")
	tr.fail()
	tr.pool = tr.pool.DeepCopy()
	tr.pool.Spec.Limits.MaxNodes = 8
	tr.SetPool(tr.pool)
	require.Empty(t, tr.buy(), "a limit changes no machine")
	tr.pool = tr.pool.DeepCopy()
	tr.pool.Spec.Template.Labels = map[string]string{"zone": "b"}
	tr.SetPool(tr.pool)
	require.NotEmpty(t, tr.buy())
}

// What a short job leaves behind is no sign that it was refused.
func TestAMachineWhosePodHasComeAndGoneWasOfUse(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "1")
	tr.buy()
	tr.Pods(object.Bound(object.Pod("a", "cpu", "1"), "p-000"))
	tr.ForgetPod("a")
	tr.refused("b", "cpu", "1")
	tr.pass(experience.VainAfter)
	require.Empty(t, tr.review())
	require.Empty(t, tr.Claim("p-000").Spec.OrderedFor, "settled for good")
}

func TestAMachineThatOthersUsedUpWasOfUse(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "1")
	tr.buy()
	tr.Pods(object.Bound(object.Pod("guest", "cpu", "4"), "p-000"))
	tr.pass(experience.VainAfter)
	require.Empty(t, tr.review())
	require.Empty(t, tr.Claim("p-000").Spec.OrderedFor)
}

func TestAMachineThatCameUpTooSmallSaysSo(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "3500m")
	tr.buy()
	tr.Nodes(object.Node("p-000", "cpu", "3", "memory", "8Gi"))
	tr.pass(experience.VainAfter)
	require.Equal(t, "p-000: Insufficient cpu", tr.review()[0].Message)
}

func TestASlowSchedulerIsGivenTime(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	for i := range 3 {
		tr.refused(fmt.Sprint("a", i), "cpu", "3")
	}
	require.Len(t, tr.buy(), 3)
	tr.Pods(object.Bound(object.Pod("a0", "cpu", "3"), "p-000"))
	tr.Now = tr.Now.Add(experience.VainAfter)
	require.Empty(t, tr.review(), "such pods are being placed")
	tr.Now = tr.Now.Add(experience.VainAtMost - experience.VainAfter)
	require.True(t, tr.review()[0].Open())
	require.True(t, tr.review()[0].Open(), "p-000 is not newer")
}

func TestALostMachineWasNotInVain(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a", "cpu", "1")
	tr.buy()
	lost := object.InState(tr.Claim("p-000"), v1alpha1.ClaimReleasing)
	lost.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(tr.Now.Add(time.Minute)),
	}}
	tr.SetClaim(lost)
	tr.pass(experience.VainAfter)
	require.Empty(t, tr.review())
}

func TestOnlyOneMachineIsTriedAfterOneInVain(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a0", "cpu", "3")
	tr.buy()
	tr.pass(experience.VainAfter)
	tr.review()
	for i := range 5 {
		tr.refused(fmt.Sprint("a", i), "cpu", "3")
	}
	tr.pass(time.Second)
	require.Equal(t, []string{"p-001"}, tr.buy())
	tr.pass(time.Second)
	plan := planner.Plan(tr.View(), tr.Now)
	require.Empty(t, plan.Creates)
	require.Equal(t, capacity.CodeBought, plan.Outcomes["a4"].Reason.Code)
	require.Contains(t, plan.Outcomes["a4"].String(), "one more is tried")
}

func TestAnotherPoolServesWhereOneIsInVain(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	tr.refused("a0", "cpu", "3")
	tr.buy()
	tr.pass(experience.VainAfter)
	tr.review()
	tr.SetPool(object.Pool("q", 9, object.Shape("m", "cpu", "4", "memory", "8Gi")))
	tr.refused("a1", "cpu", "3")
	tr.pass(time.Second)
	require.Equal(t, []string{"q-000", "q-001"}, tr.buy())
}

func TestCircuitsAreBounded(t *testing.T) {
	tr := newTrial(fourCores(), object.Start)
	for i := range experience.MaxCircuits + 9 {
		circuit := v1alpha1.Circuit{
			Pods: fmt.Sprintf("%04d", i), NextProbe: metav1.NewTime(tr.Now), Since: metav1.NewTime(tr.Now.Add(time.Duration(i))),
			Vain: []types.UID{"x"},
		}
		if i == 0 {
			circuit.Vain = append(circuit.Vain, "y")
		}
		tr.pool.Status.Circuits = append(tr.pool.Status.Circuits, circuit)
	}
	tr.pool.Status.Template = capacity.TemplateHash(tr.pool)
	tr.SetPool(tr.pool)
	kept := tr.review()
	require.Len(t, kept, experience.MaxCircuits)
	require.Equal(t, "0000", kept[0].Pods, "an open one is dropped last")
	require.Equal(t, "0010", kept[1].Pods, "and the newest are kept")
	tr.Now = tr.Now.Add(experience.CircuitsKept)
	require.Empty(t, tr.review())
}
