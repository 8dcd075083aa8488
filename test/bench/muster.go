package bench

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/planner"
)

// now is the time of every plan.
var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// view is a cluster without nodes in which the pods wait.
func (m *market) view(pods []*corev1.Pod) *capacity.View { return m.live(slices.Values(pods)).View() }

// live is such a cluster as muster serve has it: of each pod it keeps what planning needs, and not the pod.
func (m *market) live(pods iter.Seq[*corev1.Pod]) *capacity.Live {
	live := capacity.NewLive(capacity.Schedulers{Guard: sets.New(corev1.DefaultSchedulerName)})
	live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}, Spec: v1alpha1.ProviderSpec{Type: "sim"}})
	for _, p := range m.pools {
		live.SetPool(p)
	}
	for p := range pods {
		live.SetPod(p, now)
		live.Want(p.UID, now)
	}
	live.Expire(now)
	return live
}

// muster plans for the pods of a view. Only planner.Plan is timed: a running Muster keeps its view up to date pod by pod.
func (m *market) muster(v *capacity.View, pods []*corev1.Pod) answer {
	elapsed := stopwatch()
	plan := planner.Plan(v, now)
	a := answer{took: elapsed(), lowerBound: plan.LowerBound}
	byUID := make(map[types.UID]*corev1.Pod, len(pods))
	for _, p := range pods {
		byUID[p.UID] = p
		if plan.Outcomes[p.UID].Fate != capacity.Ordered {
			a.unserved++
		}
	}
	for _, c := range plan.Creates {
		bought := machine{shape: c.Claim.Spec.Shape, zone: c.Claim.Spec.Labels[corev1.LabelTopologyZone]}
		for _, p := range c.Pods {
			bought.pods = append(bought.pods, byUID[p.UID])
		}
		a.machines = append(a.machines, bought)
	}
	return a
}
