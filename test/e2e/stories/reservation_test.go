package stories

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

const (
	agentTaint = "example.com/agent-not-ready"
	lateTaint  = "example.com/late" // keeps off the pod that the machine was ordered for, and nobody else
)

// kept is a machine of 4 CPUs that was ordered for a pod of 3, and that has just opened to everybody but this pod.
type kept struct {
	*stage.Stage
	replica *stage.Replica
	wants   *corev1.Pod
	node    string
	edits   []func(*corev1.Pod) // of every pod of the story
}

// order has a machine made for a pod and stops while its agents start.
func order(t *testing.T, guard bool) *kept {
	k := &kept{Stage: stage.New(t, kit)}
	k.Backend()
	_, err := k.Plane.Client.SchedulingV1().PriorityClasses().Create(k.Ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "important"}, Value: 1000, PreemptionPolicy: new(corev1.PreemptNever),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pool := stage.Pool("one", 1, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")})
	pool.Spec.Template.StartupTaints = []corev1.Taint{{Key: agentTaint, Effect: corev1.TaintEffectNoSchedule}}
	k.Apply(pool)
	if guard {
		k.edits = append(k.edits, guarded)
		k.Node("small", stage.Resources("cpu", "400m", "memory", "2Gi")) // a scheduler without a node asks nobody
		k.replica = k.Guarded(stage.ReplicaOptions{})
	} else {
		k.replica = k.Place(stage.ReplicaOptions{})
	}
	k.wants = k.Create(k.Pod("wants", stage.Resources("cpu", "3"), k.edits...))[0]
	k.node = started(k.Stage, "one")
	return k
}

// started waits for the first machine of a pool to have its startup taint, and says what its node is called.
func started(s *stage.Stage, pool string) string {
	node := s.AwaitClaims(soon, pool, 1, v1alpha1.ClaimStarting)[0].Status.NodeName
	s.Await(soon, "the startup taint", func() error {
		n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, node, metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == agentTaint }) {
			err = errNotYet
		}
		return err
	})
	return node
}

func (k *kept) open() {
	k.ChangeNode(k.node, stage.Taint(lateTaint))
	k.ChangeNode(k.node, stage.Untaint(agentTaint))
	k.AwaitClaims(soon, "one", 1, v1alpha1.ClaimReady)
}

// intruder is a pod that may go where the other one may not go yet.
func (k *kept) intruder(name, cpu string, edits ...func(*corev1.Pod)) *corev1.Pod {
	edits = append(append(edits, k.edits...), stage.WithToleration(lateTaint))
	return k.Create(k.Pod(name, stage.Resources("cpu", cpu), edits...))[0]
}

func (k *kept) onNode(p *corev1.Pod) {
	got, err := k.Get(p)
	require.NoError(k.T, err)
	require.Equal(k.T, k.node, got.Spec.NodeName)
}

// TestReservedRoomIsKept from a pod that comes first and could go there, until the one that it was ordered for can go
// there; what is left beside it is anybody's.
func TestReservedRoomIsKept(t *testing.T) {
	for name, says := range map[string]string{"place": "Insufficient cpu", "guard": "keep their room for other pods"} {
		t.Run(name, func(t *testing.T) {
			k := order(t, name == "guard")
			k.open()
			intruder := k.intruder("intruder", "2")
			k.Hold(soon, "the intruder to be refused", func() error { return k.Unbound(intruder) },
				func() error { return k.SchedulerSays(intruder, says) })
			modest := k.intruder("modest", "500m")
			k.AwaitRunning(soon, modest)
			k.onNode(modest)

			k.ChangeNode(k.node, stage.Untaint(lateTaint))
			k.AwaitRunning(soon, k.wants)
			k.onNode(k.wants)
			require.NoError(t, k.Unbound(intruder))
			require.Len(t, k.MustClaims(""), 1)
			require.Empty(t, k.Diary.Deleted())
		})
	}
}

// TestReservedRoomIsTakenByAMoreImportantPod, and nobody is evicted for that.
func TestReservedRoomIsTakenByAMoreImportantPod(t *testing.T) {
	for _, name := range []string{"place", "guard"} {
		t.Run(name, func(t *testing.T) {
			k := order(t, name == "guard")
			k.open()
			important := k.intruder("important", "2", ofClass("important"))
			k.AwaitRunning(soon, important)
			k.onNode(important)
			require.NoError(t, k.Unbound(k.wants))
			require.Empty(t, k.Diary.Deleted())
		})
	}
}

// TestReservedRoomIsFreeWhenNobodyNeedsIt: the pod that it was ordered for is deleted.
func TestReservedRoomIsFreeWhenNobodyNeedsIt(t *testing.T) {
	k := order(t, false)
	k.open()
	intruder := k.intruder("intruder", "2")
	k.Hold(soon, "the intruder to be refused", func() error { return k.Unbound(intruder) },
		func() error { return k.SchedulerSays(intruder, "Insufficient cpu") })
	begin := time.Now()
	k.Delete(k.wants)
	require.LessOrEqual(t, k.AwaitBoundSince(soon, begin, intruder), 2*wakeUp)
	k.onNode(intruder)
}

// TestTheNodeIsNamedToTheScheduler while that sleeps: the nomination stands in the pod when it wakes, and the claim says
// for whom it was made.
func TestTheNodeIsNamedToTheScheduler(t *testing.T) {
	k := order(t, false)
	k.replica.Scheduler.Pause()
	k.ChangeNode(k.node, stage.Untaint(agentTaint))
	k.Await(10*time.Second, "the nomination", func() error { return k.Nominated(k.wants) })
	got, err := k.Get(k.wants)
	require.NoError(t, err)
	require.Equal(t, k.node, got.Status.NominatedNodeName)
	claim := k.MustClaims("one")[0]
	require.Equal(t, fmt.Sprint([]any{k.wants.UID}), fmt.Sprint(claim.Status.Nominated))
	k.replica.Scheduler.Resume()
	k.AwaitRunning(soon, k.wants)
	k.onNode(k.wants)
	require.Len(t, k.MustClaims("one")[0].Status.Nominated, 1)
	k.WholeAndPaired()
}

// TestANodeSmallerThanPromisedIsBoughtOnce: the machine offers less than its shape says, the pod does not fit, and the pool
// has learned.
func TestANodeSmallerThanPromisedIsBoughtOnce(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	pool := stage.Pool("liar", 3, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "32Gi")})
	pool.Spec.Template.StartupTaints = []corev1.Taint{{Key: agentTaint, Effect: corev1.TaintEffectNoSchedule}}
	s.Apply(pool)
	s.Place(stage.ReplicaOptions{})
	pod := s.Create(s.Pod("large", stage.Resources("cpu", "1", "memory", "31Gi")))[0]
	node := started(s, "liar")
	s.ChangeNodeStatus(node, func(n *corev1.Node) {
		n.Status.Allocatable[corev1.ResourceMemory] = stage.Resources("memory", "31232Mi")[corev1.ResourceMemory]
	})
	s.AwaitNoHelp(soon, pod, "m offers memory 31232Mi")
	s.ChangeNode(node, stage.Untaint(agentTaint))
	s.AwaitClaims(soon, "liar", 1, v1alpha1.ClaimReady)
	s.Await(soon, "the pool's status to say so", func() error {
		for _, l := range s.Pool("liar").Status.Shapes {
			if l.Name == "m" && l.Allocatable.Memory().String() == "31232Mi" {
				return nil
			}
		}
		return errNotYet
	})
	quiet(s, pod)
	require.Len(t, s.MustClaims("liar"), 1)
	fits := s.Create(s.Pod("fits", stage.Resources("cpu", "1", "memory", "30Gi")))[0]
	s.AwaitRunning(soon, fits)
	require.Len(t, s.MustClaims("liar"), 1)
}
