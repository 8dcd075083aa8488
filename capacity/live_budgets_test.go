package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func makeBudget(name string, selector *metav1.LabelSelector, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func TestWhomABudgetProtects(t *testing.T) {
	labelled := func(name string, labels map[string]string) *Pod {
		p := object.Pod(name)
		p.Labels = labels
		return PodOf(p)
	}
	web := map[string]string{"app": "web"}
	elsewhere := labelled("p", web)
	elsewhere.Namespace = "other"
	disrupted := makeBudget("b", &metav1.LabelSelector{MatchLabels: web}, 1)
	disrupted.Status.DisruptedPods = map[string]metav1.Time{"p": {}}
	for name, c := range map[string]struct {
		budget *policyv1.PodDisruptionBudget
		pod    *Pod
		want   bool
	}{
		"a pod that it selects":           {makeBudget("b", &metav1.LabelSelector{MatchLabels: web}, 1), labelled("p", web), true},
		"a pod that it does not select":   {makeBudget("b", &metav1.LabelSelector{MatchLabels: web}, 1), labelled("p", nil), false},
		"a pod of another namespace":      {makeBudget("b", &metav1.LabelSelector{MatchLabels: web}, 1), elsewhere, false},
		"everybody, by an empty selector": {makeBudget("b", &metav1.LabelSelector{}, 1), labelled("p", nil), true},
		"nobody, without a selector":      {makeBudget("b", nil, 1), labelled("p", web), false},
		"nobody, by one that does not parse": {makeBudget("b", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "?"}}}, 1),
			labelled("p", web), false},
		"nobody whose eviction was counted": {disrupted, labelled("p", web), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, NewDisruptionBudget(c.budget).Protects(c.pod))
		})
	}
}

func TestBudgetsOfAView(t *testing.T) {
	s := newScene()
	all := &metav1.LabelSelector{}
	s.SetDisruptionBudget(makeBudget("b", all, 1))
	s.SetDisruptionBudget(makeBudget("a", all, 2))
	before := s.View()
	s.SetDisruptionBudget(makeBudget("b", all, 0))
	s.ForgetDisruptionBudget("default", "a")
	s.ForgetDisruptionBudget("default", "nobody")
	allowed := func(v *View) map[string]int32 {
		out := map[string]int32{}
		for _, b := range v.Budgets {
			out[b.Name] = b.Allowed
		}
		return out
	}
	require.Equal(t, map[string]int32{"a": 2, "b": 1}, allowed(before))
	require.Equal(t, "a", before.Budgets[0].Name)
	require.Equal(t, map[string]int32{"b": 0}, allowed(s.View()))
}

func TestWhatPreemptionReadsOfAPod(t *testing.T) {
	p := object.Pod("p")
	require.False(t, PodOf(p).NeverPreempts)
	p.Spec.PreemptionPolicy = new(corev1.PreemptLowerPriority)
	require.False(t, PodOf(p).NeverPreempts)
	p.Spec.PreemptionPolicy = new(corev1.PreemptNever)
	p.Status.StartTime, p.DeletionTimestamp = object.Time(object.At(3)), object.Time(object.At(40))
	got := PodOf(p)
	require.True(t, got.NeverPreempts)
	require.Equal(t, object.At(3), got.Started)
	require.Equal(t, object.At(40), got.Ends)
	require.True(t, got.Terminating)
}
