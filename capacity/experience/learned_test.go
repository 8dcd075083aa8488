package experience_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/experience"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/planner"
)

// studies is a pool whose nodes offer something else than its template promises.
type studies struct{ *trial }

func studied(pool *v1alpha1.NodePool) *studies {
	return &studies{newTrial(pool, object.Start)}
}

// comesUp is a machine of the pool whose kubelet has registered, and then become ready.
func (st *studies) comesUp(claim *v1alpha1.NodeClaim, memory string) {
	c := claim.DeepCopy()
	c.UID, c.Status.NodeName, c.Status.RegisteredAt = types.UID(c.Name), c.Name, object.Micro(st.Now)
	st.SetClaim(object.InState(c, v1alpha1.ClaimStarting))
	st.Nodes(starting(marked(object.Node(c.Name, "cpu", "4", "memory", memory))))
}

func (st *studies) ready(name, memory string) {
	c := st.Claim(name).DeepCopy()
	c.Status.State, c.Status.ReadyAt = v1alpha1.ClaimReady, object.Micro(st.Now)
	st.SetClaim(c)
	st.Nodes(marked(object.Node(name, "cpu", "4", "memory", memory)))
}

// marked is a Node that Muster registered for the claim of the same name.
func marked(n *corev1.Node) *corev1.Node {
	n.Annotations = map[string]string{v1alpha1.RegisteredAnnotation: n.Name}
	return n
}

func starting(n *corev1.Node) *corev1.Node {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule})
	return n
}

// recorded writes the pool's status as the planner's loop does.
func (st *studies) recorded() []v1alpha1.LearnedShape {
	v := st.View()
	r := experience.Of(v, st.Now)
	st.pool = st.pool.DeepCopy()
	st.pool.Status.Forgotten = experience.ForgottenAt(st.pool, st.Now)
	st.pool.Status.Template, st.pool.Status.Shapes = v.Template(st.pool).Hash, r.Shapes[st.pool.Name]
	st.SetPool(st.pool)
	return st.pool.Status.Shapes
}

func (st *studies) plan() capacity.Plan { return planner.Plan(st.View(), st.Now) }

func memoryOf(list corev1.ResourceList) string { return list.Memory().String() }

func largeMemory() *v1alpha1.NodePool {
	return object.Pool("p", 9, object.Shape("m", "cpu", "4", "memory", "32Gi"))
}

// The story of the pool that says 32Gi, whose nodes offer 30.5Gi: a pod of 31Gi buys one, and no second one.
func TestAPodThatTheNodesTurnOutTooSmallForBuysOnce(t *testing.T) {
	st := studied(largeMemory())
	st.Pods(object.Unscheduled(object.Pod("big", "cpu", "1", "memory", "31Gi"), corev1.PodReasonUnschedulable))
	plan := st.plan()
	require.Len(t, plan.Creates, 1, "the template says that it fits")

	st.comesUp(plan.Creates[0].Claim, "31232Mi")
	plan = st.plan()
	require.Empty(t, plan.Creates, "its kubelet said so before the node was ready")
	require.Equal(t, capacity.Reason{Code: capacity.CodeTooLarge, Detail: "m offers memory 31232Mi"}, plan.Outcomes["big"].Reason)

	st.ready("p-000", "31232Mi")
	require.Empty(t, st.plan().Creates)
	learned := st.recorded()
	require.Len(t, learned, 1)
	require.Equal(t, "31232Mi", memoryOf(learned[0].Allocatable))
	require.Equal(t, "32Gi", memoryOf(learned[0].Capacity))

	again := studied(st.pool) // a restart, and the machine is gone
	again.Pods(object.Unscheduled(object.Pod("big", "cpu", "1", "memory", "31Gi"), corev1.PodReasonUnschedulable))
	require.Empty(t, again.plan().Creates)
	again.Pods(object.Unscheduled(object.Pod("fits", "cpu", "1", "memory", "30Gi"), corev1.PodReasonUnschedulable))
	plan = again.plan()
	require.Len(t, plan.Creates, 1)
	require.Equal(t, "31232Mi", memoryOf(plan.Creates[0].Claim.Spec.Allocatable), "the claim promises no more than that")
}

func TestTwoThatShareAMachineOnPaperGetOneEach(t *testing.T) {
	st := studied(largeMemory())
	st.Pods(object.Unscheduled(object.Pod("first", "memory", "1Gi"), corev1.PodReasonUnschedulable))
	st.comesUp(st.plan().Creates[0].Claim, "30Gi")
	st.ready("p-000", "30Gi")
	for _, name := range []string{"a", "b"} {
		st.Pods(object.Unscheduled(object.Pod(name, "cpu", "1", "memory", "16Gi"), corev1.PodReasonUnschedulable))
	}
	plan := st.plan()
	require.Equal(t, capacity.FitsNow, plan.Outcomes["a"].Fate)
	require.Len(t, plan.Creates, 1)
	st.Pods(object.Unscheduled(object.Pod("c", "cpu", "1", "memory", "16Gi"), corev1.PodReasonUnschedulable))
	require.Len(t, st.plan().Creates, 2, "not two of them on 32Gi")
}

func TestWhatNodesSayIsBelievedWithinReason(t *testing.T) {
	for name, c := range map[string]struct {
		memory []string // of each node
		want   string   // empty where nothing is learned
	}{
		"as promised":                             {[]string{"32Gi"}, "32Gi"},
		"a little less":                           {[]string{"30Gi"}, "30Gi"},
		"the least of several":                    {[]string{"31Gi", "30Gi", "31Gi"}, "30Gi"},
		"more than promised is not counted on":    {[]string{"1Ti"}, "32Gi"},
		"nothing at all says nothing":             {[]string{"0"}, ""},
		"one broken machine says nothing":         {[]string{"1Gi"}, ""},
		"one broken machine among sound ones too": {[]string{"31Gi", "1Gi", "30Gi"}, "30Gi"},
		"two that say the same are believed":      {[]string{"12Gi", "12Gi"}, "12Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			st := studied(largeMemory())
			for i, memory := range c.memory {
				claim := capacity.NewClaim(st.pool, st.pool.Spec.Template.Shapes[0], i)
				st.comesUp(claim, memory)
				st.ready(claim.Name, memory)
			}
			learned := st.recorded()
			if c.want == "" {
				require.Empty(t, learned)
				return
			}
			require.Equal(t, c.want, memoryOf(learned[0].Allocatable))
		})
	}
}

func TestALieIsForgottenWhenTheNodeMendsIt(t *testing.T) {
	st := studied(largeMemory())
	for i := range 2 {
		claim := capacity.NewClaim(st.pool, st.pool.Spec.Template.Shapes[0], i)
		st.comesUp(claim, "8Gi")
		st.ready(claim.Name, "8Gi")
	}
	require.Equal(t, "8Gi", memoryOf(st.recorded()[0].Allocatable))
	observed := st.pool.Status.Shapes[0].Observed
	st.Now = st.Now.Add(time.Minute)
	require.Equal(t, observed, st.recorded()[0].Observed, "nothing new")
	st.ready("p-000", "30Gi")
	require.Equal(t, "30Gi", memoryOf(st.recorded()[0].Allocatable), "the other is alone by now")
	require.True(t, observed.Before(&st.pool.Status.Shapes[0].Observed))
}

func TestAnotherTemplateIsLearnedAnew(t *testing.T) {
	st := studied(largeMemory())
	claim := capacity.NewClaim(st.pool, st.pool.Spec.Template.Shapes[0], 0)
	st.comesUp(claim, "30Gi")
	st.ready(claim.Name, "30Gi")
	st.recorded()
	st.pool.Spec.Template.Overhead = corev1.ResourceList{"memory": object.Shape("", "memory", "1Gi").Resources["memory"]}
	st.SetPool(st.pool)
	require.Empty(t, st.recorded(), "its machines are not what the pool would make now")
}

// A range: sizes that were not seen are judged by their neighbours, and machines are still made no larger than needed.
func TestARangeLearnsWhatItsSizesLose(t *testing.T) {
	pool := object.Pool("p", 9)
	pool.Spec.Template.Shapes = nil
	pool.Spec.Template.Range = &v1alpha1.ShapeRange{
		CPU:    v1alpha1.QuantityRange{Min: resource.MustParse("1"), Max: resource.MustParse("16"), Step: resource.MustParse("1")},
		Memory: v1alpha1.QuantityRange{Min: resource.MustParse("2Gi"), Max: resource.MustParse("64Gi"), Step: resource.MustParse("1Gi")},
	}
	st := studied(pool)
	st.Pods(object.Unscheduled(object.Pod("a", "cpu", "4", "memory", "8Gi"), corev1.PodReasonUnschedulable))
	plan := st.plan()
	require.Equal(t, "4cpu-8gi", plan.Creates[0].Claim.Spec.Shape)
	st.comesUp(plan.Creates[0].Claim, "7Gi")
	plan = st.plan()
	require.Len(t, plan.Creates, 1, "not the same again")
	require.Equal(t, "4cpu-10gi", plan.Creates[0].Claim.Spec.Shape, "8Gi of 10Gi by the same share, and no more than that")
	st.comesUp(plan.Creates[0].Claim, "8704Mi")
	require.Empty(t, st.plan().Creates)
	x := experience.NewForecast(pool, st.recorded())
	at := func(memory int64) int64 {
		c := amount.Resources{MilliCPU: 4000, Memory: memory << 20, Pods: capacity.DefaultPods}
		return x.Expect("other", c, c).Memory >> 20
	}
	require.Equal(t, []int64{3584, 7168, 7936, 8704, 17408}, []int64{at(4096), at(8192), at(9216), at(10240), at(20480)})
}
