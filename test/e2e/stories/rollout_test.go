package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// rollout is a pool of machines with one pod of a ReplicaSet on each, of which all but one must run.
type rollout struct {
	*stage.Stage
	pods     int
	releases *witness.Releases
}

func newRollout(t *testing.T, pods int) *rollout {
	s := &rollout{Stage: stage.New(t, kit), pods: pods}
	s.Backend("--boot-min=200ms", "--boot-median=500ms", "--boot-max=1s", "--delete-time=300ms")
	s.Apply(stage.Pool("web", int32(pods+1), []v1alpha1.Shape{priced(stage.Shape("one-pod", "cpu", "2", "memory", "4Gi"), "3")},
		func(p *v1alpha1.NodePool) {
			p.Spec.ScaleDown = v1alpha1.ScaleDown{
				UnderusedAfter: &metav1.Duration{Duration: 2 * time.Second}, ReplaceDrifted: true,
				Budgets: []v1alpha1.ReleaseBudget{
					{Nodes: intstr.FromInt32(1), Reasons: []v1alpha1.ReleaseReason{v1alpha1.ReleaseDrifted}},
					{Nodes: intstr.FromInt(pods)},
				},
			}
		}))
	c, err := client.NewWithWatch(s.Plane.Admin, client.Options{Scheme: s.Plane.Objects.Scheme()})
	require.NoError(t, err)
	s.releases = witness.WatchReleases(s.Ctx, c)
	s.Place(stage.ReplicaOptions{})
	replicas(s.Stage, "web", int32(pods), stage.Resources("cpu", "1200m"))
	atMost := intstr.FromInt32(1)
	_, err = s.Plane.Client.PolicyV1().PodDisruptionBudgets(s.Namespace).Create(s.Ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &atMost, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.AwaitClaims(soon, "web", pods, v1alpha1.ClaimReady)
	s.Await(soon, "all pods to run", s.allRun)
	return s
}

func priced(shape v1alpha1.Shape, price string) v1alpha1.Shape {
	shape.Price = new(resource.MustParse(price))
	return shape
}

func (s *rollout) allRun() error {
	pods, err := s.List()
	if err != nil {
		return err
	}
	if len(pods) != s.pods {
		return fmt.Errorf("there are %d pods of %d", len(pods), s.pods)
	}
	for _, p := range pods {
		if err := s.Running(p); err != nil {
			return err
		}
	}
	return nil
}

// settled says that all claims are Ready, as many as are expected, and are what is wanted.
func (s *rollout) settled(claims int, as func(v1alpha1.NodeClaim) bool) func() error {
	return func() error {
		all, err := s.Claims("web")
		if err != nil {
			return err
		}
		for _, c := range all {
			if !as(c) || c.Spec.Release != nil || c.Status.State != v1alpha1.ClaimReady || len(all) != claims {
				return fmt.Errorf("%d claims, %s is of shape %s in state %s: %s", len(all), c.Name, c.Spec.Shape, c.Status.State, c.Status.Message)
			}
		}
		return s.allRun()
	}
}

// TestANewTemplateReplacesEveryNodeAndACheaperShapeAllAtOnce: machines are bought first; nodes go one by one, as the budget has it at every
// write; each pod leaves by an eviction that its own budget allows. Then a larger shape is on offer for less than what the
// nodes cost together, and one machine takes the place of all.
func TestANewTemplateReplacesEveryNodeAndACheaperShapeAllAtOnce(t *testing.T) {
	const pods = 3
	s := newRollout(t, pods)
	s.ChangePool("web", func(p *v1alpha1.NodePool) { p.Spec.Template.Labels = map[string]string{"generation": "two"} })
	took := s.Await(2*time.Minute, "every node to be of the new template", s.settled(pods, func(c v1alpha1.NodeClaim) bool {
		return c.Spec.Labels["generation"] == "two" && len(c.Spec.Replaces) == 1
	}))
	begun, taken, carried, _ := s.releases.Counts()
	t.Logf("%d nodes were replaced after %s: %d releases begun, %d taken back, %d carried out", pods, took.Round(time.Second), begun, taken, carried)
	require.Equal(t, 1, s.releases.MostClosed(), "the pool's budget, at every write")
	require.Equal(t, pods, carried)

	s.ChangePool("web", func(p *v1alpha1.NodePool) {
		p.Spec.ScaleDown.SavingThreshold = 30
		p.Spec.Template.Shapes = append(p.Spec.Template.Shapes, priced(stage.Shape("three-pods", "cpu", "5", "memory", "8Gi"), "5"))
	})
	took = s.Await(2*time.Minute, "one machine to carry all", s.settled(1, func(c v1alpha1.NodeClaim) bool {
		return c.Spec.Shape == "three-pods" && len(c.Spec.Replaces) == pods
	}))
	t.Logf("one machine carried all after %s", took.Round(time.Second))
	_, _, carried, _ = s.releases.Counts()
	require.Equal(t, 2*pods, carried)
	s.WholeAndPaired()
	found, err := s.releases.Verdict()
	require.NoError(t, err)
	require.Empty(t, found.Late)
	given := slices.DeleteFunc(found.Killed, func(k string) bool { return strings.Contains(k, "deleted by somebody else") }) // evicted
	require.Empty(t, given, "no machine went with a pod on it")
}

// TestOldNodesAreReplacedWithTheirReplacementsFirst: every machine is too old after a minute. Each goes when the one that takes its pod
// is ready, one at a time, and each pod leaves by an eviction that its own budget allows.
func TestOldNodesAreReplacedWithTheirReplacementsFirst(t *testing.T) {
	const pods = 2
	s := newRollout(t, pods)
	old := s.MustClaims("web")
	limit := func(after *metav1.Duration) {
		s.ChangePool("web", func(p *v1alpha1.NodePool) {
			p.Spec.ScaleDown.ExpireAfter, p.Spec.ScaleDown.UnderusedAfter = after, &metav1.Duration{Duration: time.Hour}
			p.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(1)}}
		})
	}
	limit(&metav1.Duration{Duration: time.Minute})
	closed, ready := map[types.UID]time.Time{}, map[types.UID]time.Time{} // by the claim that was replaced
	took := s.Await(5*time.Minute, "every old node to be gone", func() error {
		claims, err := s.Claims("web")
		if err != nil {
			return err
		}
		left := 0
		for _, c := range claims {
			if c.Spec.Release != nil {
				require.Equal(t, string(v1alpha1.ReleaseExpired), c.Spec.Release.Reason)
				closed[c.UID] = c.Spec.Release.Since.Time
			}
			for _, r := range c.Spec.Replaces {
				if c.Status.ReadyAt != nil {
					ready[r.UID] = c.Status.ReadyAt.Time
				}
			}
			if slices.ContainsFunc(old, func(o v1alpha1.NodeClaim) bool { return o.UID == c.UID }) {
				left++
			}
		}
		if left > 0 {
			return fmt.Errorf("%d of %d are left", left, len(old))
		}
		return nil
	})
	limit(nil)
	t.Logf("%d nodes were replaced after %s", pods, took.Round(time.Second))
	for _, o := range old {
		require.NotZero(t, closed[o.UID])
		require.NotZero(t, ready[o.UID])
		require.False(t, closed[o.UID].Before(ready[o.UID]), "%s was closed at %s, what replaces it was ready at %s", o.Name, closed[o.UID], ready[o.UID])
	}
	s.Await(2*time.Minute, "all to run on new machines", s.settled(pods, func(c v1alpha1.NodeClaim) bool { return len(c.Spec.Replaces) == 1 }))
	require.Equal(t, 1, s.releases.MostClosed(), "the pool's budget, at every write")
	s.WholeAndPaired()
	found, err := s.releases.Verdict()
	require.NoError(t, err)
	require.Empty(t, found.Late)
	given := slices.DeleteFunc(found.Killed, func(k string) bool { return strings.Contains(k, "deleted by somebody else") }) // evicted
	require.Empty(t, given, "no machine went with a pod on it")
}
