package stories

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/gate"
	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// The release of an idle node is a row of writes: to the claim, to the Node, to the backend. In these stories something
// happens exactly after the first of them, in the next round after the second, and so on until a release ends untouched.

// mostSteps bounds the rows; a release that never ends is found by it.
const mostSteps = 40

// resumed is how long a release may take to go on, or to be undone, from the start of the new leader.
const resumed = 30 * time.Second

// steps is a stage with one pool whose nodes go as soon as they are idle.
type steps struct {
	*stage.Stage
	gate  *gate.Gate
	flags []string
	round int
}

func newSteps(t *testing.T) *steps {
	s := &steps{Stage: stage.New(t, kit), gate: &gate.Gate{}}
	s.Backend("--boot-min=200ms", "--boot-median=300ms", "--boot-max=400ms", "--delete-time=300ms")
	s.flags = append(s.Gated(s.gate), "--settle=1s", "--batch-idle=100ms")
	s.Apply(stage.Pool("steps", 3, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{}}
	}))
	s.Node("small", stage.Resources("cpu", "1", "memory", "4Gi"))
	return s
}

// demand makes a pod that needs a machine of its own.
func (s *steps) demand() *corev1.Pod {
	s.round++
	return s.Create(s.Pod(fmt.Sprintf("demand-%d", s.round), stage.Resources("cpu", "1500m")))[0]
}

// settled waits until a pod runs on an open node and claims, machines and nodes are pairs.
func (s *steps) settled(within time.Duration, p *corev1.Pod) *corev1.Node {
	s.T.Helper()
	s.AwaitRunning(within, p)
	got, err := s.Get(p)
	require.NoError(s.T, err)
	s.Await(within, "the pod's node to be open and the only one", func() error {
		if err := s.open(got.Spec.NodeName); err != nil {
			return err
		}
		claims, err := s.Claims("steps")
		if err == nil && len(claims) != 1 {
			err = fmt.Errorf("there are %d claims", len(claims))
		}
		return err
	})
	s.WholeAndPaired()
	return s.NodeOf(got)
}

// open wants a node without any mark of a release.
func (s *steps) open(name string) error {
	n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	marked := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == v1alpha1.ReleasingTaint || t.Key == v1alpha1.StartingTaint
	})
	if _, cordoned := n.Annotations[v1alpha1.CordonedAnnotation]; marked || cordoned || n.Spec.Unschedulable {
		return fmt.Errorf("node %s is marked: taints %v, unschedulable %v, cordon %v", name, n.Spec.Taints, n.Spec.Unschedulable, cordoned)
	}
	return nil
}

// empty waits until no claim, no machine and no node of the pool is left.
func (s *steps) empty(within time.Duration) time.Duration {
	s.T.Helper()
	return s.Await(within, "nothing of the machine to be left", func() error {
		claims, err := s.Claims("steps")
		if err != nil {
			return err
		}
		machines, err := s.Sim.List(s.Ctx)
		if err != nil {
			return err
		}
		nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{LabelSelector: v1alpha1.PoolLabel})
		if err == nil && len(claims)+len(machines)+len(nodes.Items) > 0 {
			err = fmt.Errorf("%d claims, %d machines and %d nodes are left", len(claims), len(machines), len(nodes.Items))
		}
		return err
	})
}

// reached is how far a release had come when the story's hand fell: the write, and what the claim said then.
type reached struct {
	step   string
	state  v1alpha1.ClaimState
	reason string // of its condition Draining
}

func (r reached) String() string { return fmt.Sprintf("%s (%s, %s)", r.step, r.state, r.reason) }

// leaving says that the claim's intent to give the machine back is on record, from where there is no return.
func (r reached) leaving() bool { return r.state == v1alpha1.ClaimReleasing || r.state == "" }

// release lets the node of a pod go idle and returns how far it had come; nil when it ended untouched.
func (s *steps) release(n int, p *corev1.Pod, hand func()) *reached {
	s.T.Helper()
	fell := make(chan reached, 1)
	s.gate.Arm(n, func(step string) {
		hand()
		r := reached{step: step}
		if claims, err := s.Claims("steps"); err == nil && len(claims) > 0 {
			r.state = claims[0].Status.State
			if c := meta.FindStatusCondition(claims[0].Status.Conditions, v1alpha1.ConditionDraining); c != nil {
				r.reason = c.Reason
			}
		}
		fell <- r
	})
	s.Delete(p)
	var got *reached
	s.Await(soon, "the step, or the end of the release", func() error {
		select {
		case r := <-fell:
			got = &r
			return nil
		default:
		}
		claims, err := s.Claims("steps")
		if err == nil && len(claims) > 0 {
			err = errNotYet
		}
		return err
	})
	s.gate.Disarm()
	return got
}

// TestMusterKilledAtEachStepOfARelease: a pod waits when Muster comes back. What was not asked of the provider is undone, and
// the pod gets that very node; what was asked comes to its end, and the pod gets another one.
func TestMusterKilledAtEachStepOfARelease(t *testing.T) {
	s := newSteps(t)
	replica := s.Place(stage.ReplicaOptions{Flags: s.flags})
	pod, called := s.demand(), false
	for n := 1; ; n++ {
		require.Less(t, n, mostSteps)
		node := s.settled(soon, pod)
		at := s.release(n, pod, replica.Muster.Kill)
		if at == nil {
			break
		}
		called = called || at.step == gate.GiveBack
		pod = s.demand()
		begin := time.Now()
		replica.Revive()
		after := s.settled(resumed, pod)
		t.Logf("killed after step %d, %s: the pod ran %s after the start of the next Muster", n, at, time.Since(begin).Round(100*time.Millisecond))
		require.Equal(t, !at.leaving(), after.UID == node.UID, "step %d, %s: undone before the intent to leave was written, and never after", n, at)
	}
	require.True(t, called, "the provider was never called")
}

// TestLeaderLostAtEachStepOfARelease: scheduler and Muster die together, and the replica beside them ends what was begun.
func TestLeaderLostAtEachStepOfARelease(t *testing.T) {
	s := newSteps(t)
	quick := func(c shipped.SchedulerConfig) shipped.SchedulerConfig {
		return c.WithLease(4*time.Second, 3*time.Second, 500*time.Millisecond)
	}
	leader := s.Place(stage.ReplicaOptions{Name: "replica-a", Flags: s.flags, Config: quick})
	s.Await(soon, "the first replica to lead", func() error { return s.Leads(leader) })
	other := s.Place(stage.ReplicaOptions{Name: "replica-b", Flags: s.flags, Config: quick})
	for n := 1; ; n++ {
		require.Less(t, n, mostSteps)
		pod := s.demand()
		s.settled(soon, pod)
		at := s.release(n, pod, leader.KillPod)
		if at == nil {
			break
		}
		s.Await(soon, "the other replica to lead", func() error { return s.Leads(other) })
		took := s.empty(resumed)
		t.Logf("leader lost after step %d, %s: nothing was left %s after the other one led", n, at, took.Round(100*time.Millisecond))
		leader.Revive()
		leader, other = other, leader
	}
}

// TestDemandReturnsAtEachStepOfARelease: before the provider is called the node opens again for the pod, whose machine was
// never touched; after that the pod gets another one.
func TestDemandReturnsAtEachStepOfARelease(t *testing.T) {
	s := newSteps(t)
	s.Place(stage.ReplicaOptions{Flags: s.flags})
	pod, called := s.demand(), false
	for n := 1; ; n++ {
		require.Less(t, n, mostSteps)
		node := s.settled(soon, pod)
		var next *corev1.Pod
		at := s.release(n, pod, func() { next = s.demand() })
		if at == nil {
			break
		}
		called = called || at.step == gate.GiveBack
		begin := time.Now()
		same := s.settled(soon, next).UID == node.UID
		t.Logf("demand after step %d, %s: ran after %s, on the same node: %v", n, at, time.Since(begin).Round(100*time.Millisecond), same)
		switch {
		case at.leaving():
			require.False(t, same, "step %d, %s: a node whose machine is going is not reopened", n, at)
		case at.reason != "WaitingForPods": // after that only the last look is left, and either may win
			require.True(t, same, "step %d, %s: nothing was asked of the provider", n, at)
		}
		pod = next
	}
	require.True(t, called, "the provider was never called")
}
