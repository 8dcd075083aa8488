package stories

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// sparse is a pool of two machines: on the first a bare pod that stays and one that is to go, on the second the one pod of
// a ReplicaSet, which fits on the first once that other pod is gone.
type sparse struct {
	*stage.Stage
	stays, goes *corev1.Pod
	lonely      *corev1.Pod
}

func newSparse(t *testing.T, drainTimeout time.Duration) *sparse {
	s := &sparse{Stage: stage.New(t, kit)}
	s.Backend()
	s.Apply(stage.Pool("general", 3, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.ScaleDown = v1alpha1.ScaleDown{
			UnderusedAfter: &metav1.Duration{Duration: 2 * time.Second}, DrainTimeout: &metav1.Duration{Duration: drainTimeout},
		}
	}))
	s.Place(stage.ReplicaOptions{})
	first := s.Create(s.Pod("stays", stage.Resources("cpu", "2")), s.Pod("goes", stage.Resources("cpu", "1500m")))
	s.stays, s.goes = first[0], first[1]
	s.AwaitRunning(soon, first...)
	s.replicas("lonely", stage.Resources("cpu", "1"))
	s.Await(soon, "the ReplicaSet's pod to run", func() error {
		pods, err := s.List()
		if err != nil {
			return err
		}
		for _, p := range pods {
			if p.Labels["app"] == "lonely" {
				s.lonely = p
				return s.Running(p)
			}
		}
		return fmt.Errorf("there is none: %w", errors.Join(errNotYet, err))
	})
	s.AwaitClaims(soon, "general", 2, v1alpha1.ClaimReady)
	s.WholeAndPaired()
	return s
}

// replicas is a ReplicaSet of one pod of scheduler muster.
func (s *sparse) replicas(name string, requests corev1.ResourceList) {
	replicas(s.Stage, name, 1, requests)
}

// replicas is a ReplicaSet of pods of scheduler muster.
func replicas(s *stage.Stage, name string, n int32, requests corev1.ResourceList) {
	template := s.Pod("", requests)
	template.Labels = map[string]string{"app": name}
	_, err := s.Plane.Client.AppsV1().ReplicaSets(s.Namespace).Create(s.Ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
		},
	}, metav1.CreateOptions{})
	require.NoError(s.T, err)
}

// claim is that of a pod's node.
func (s *sparse) claim(p *corev1.Pod) string { return s.NodeOf(p).Labels[v1alpha1.ClaimLabel] }

// TestAnUnderusedNodeIsEmptiedAndReleased: its pod is evicted, made again and runs on the other node; machine, claim and node
// are gone, and nobody else was touched.
func TestAnUnderusedNodeIsEmptiedAndReleased(t *testing.T) {
	s := newSparse(t, time.Minute)
	stays, err := s.Get(s.stays)
	require.NoError(t, err)
	left := s.claim(s.lonely)
	s.Delete(s.goes)
	s.Await(soon, "the second machine to be gone", func() error {
		claims, err := s.Claims("general")
		if err == nil && (len(claims) != 1 || claims[0].Name == left) {
			return fmt.Errorf("there are %d claims; %s: %s", len(claims), claims[0].Name, claims[len(claims)-1].Status.Message)
		}
		return err
	})
	pods, err := s.List()
	require.NoError(t, err)
	require.Len(t, pods, 2)
	require.NotContains(t, pods, s.lonely.UID, "it is another pod by now")
	for _, p := range pods {
		require.NoError(t, s.Running(p))
		require.Equal(t, stays.Spec.NodeName, p.Spec.NodeName)
	}
	deleted := s.Diary.Deleted()
	slices.Sort(deleted)
	require.Equal(t, []string{"goes", s.lonely.Name}, deleted)
	require.Len(t, s.Machines(), 2, "none was bought for the pod that moved")
	s.WholeAndPaired()
}

// TestADrainThatABudgetBlocksIsUndone: at its deadline the node is open again as it was, the reason is on the claim, in an event
// and on the pod, and nobody tries again.
func TestADrainThatABudgetBlocksIsUndone(t *testing.T) {
	s := newSparse(t, 12*time.Second)
	before, name := s.NodeOf(s.lonely), s.claim(s.lonely)
	s.Delete(s.goes)
	s.Await(soon, "the drain to begin", s.in(name, v1alpha1.ClaimDraining))
	one := intstr.FromInt32(1)
	_, err := s.Plane.Client.PolicyV1().PodDisruptionBudgets(s.Namespace).Create(s.Ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "lonely"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "lonely"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.Await(soon, "the drain to be undone", s.in(name, v1alpha1.ClaimReady))

	after := s.NodeOf(s.lonely)
	require.Equal(t, before.Spec, after.Spec, "no taint and no cordon is left")
	require.NotContains(t, after.Annotations, v1alpha1.CordonedAnnotation)
	claim := s.claimNamed(name)
	require.EqualValues(t, 1, claim.Status.DrainFailures)
	why := meta.FindStatusCondition(claim.Status.Conditions, v1alpha1.ConditionDraining)
	require.Equal(t, metav1.ConditionFalse, why.Status)
	require.Equal(t, "DrainBlocked", why.Reason)
	require.Contains(t, why.Message, "pods did not leave within 12s: 1, one of them "+s.Namespace+"/"+s.lonely.Name+": Cannot evict pod as it would violate the pod's disruption budget.")
	s.Await(soon, "the pod to say it", func() error {
		events, err := s.Events(s.lonely)
		if err == nil && !strings.Contains(strings.Join(events, "\n"), "DrainBlocked: "+name+": node "+after.Name+" is not emptied") {
			return fmt.Errorf("its events are %v", events)
		}
		return err
	})

	// Longer than what led to the first drain.
	begin := time.Now()
	s.Hold(soon, "a while to pass", func() error {
		if c := s.claimNamed(name); c.Status.State != v1alpha1.ClaimReady || c.Spec.Release != nil {
			return stage.Never("it is drained again: %s", c.Status.Message)
		}
		return nil
	}, func() error {
		if left := 15*time.Second - time.Since(begin); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	require.Equal(t, []string{"goes"}, s.Diary.Deleted())
	s.WholeAndPaired()
}

func (s *sparse) in(claim string, state v1alpha1.ClaimState) func() error {
	return func() error {
		if c := s.claimNamed(claim); c.Status.State != state {
			return fmt.Errorf("it is %s: %s", c.Status.State, c.Status.Message)
		}
		return nil
	}
}

func (s *sparse) claimNamed(name string) v1alpha1.NodeClaim {
	for _, c := range s.MustClaims("general") {
		if c.Name == name {
			return c
		}
	}
	require.Fail(s.T, "no claim "+name)
	return v1alpha1.NodeClaim{}
}
