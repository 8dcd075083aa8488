package reaper_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// large is 1,000 nodes of 32 CPUs with 30,000 pods: on 700 nodes 38 pods of 500 to 900 milli CPU, on 300 nodes 11 or 12 smaller ones.
// Every tenth pod has rules about others.
func large(full bool, change func(*v1alpha1.NodePoolSpec)) *capacity.View {
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	pool := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePoolSpec{
		Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 1000},
	}}
	change(&pool.Spec)
	live.SetPool(pool)
	live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}})
	w := &world{live: live, pool: pool, nodes: map[int]*corev1.Node{}}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	made := 0
	for i := range 1000 {
		w.node(i)
		w.mark(i, func(n *corev1.Node) {
			n.Status.Allocatable = room
			n.Labels[corev1.LabelHostname], n.Labels[corev1.LabelTopologyZone] = n.Name, fmt.Sprint("z", i%3)
		})
		few := i%10 < 3
		count := 38
		if few {
			count = 11 + i%2
		}
		for j := range count {
			cpu := 500 + 100*(made%5)
			if few {
				cpu = 250 + 50*(made%5)
			}
			if full && !few {
				cpu = 840
			}
			w.run(fmt.Sprint("pod-", made), i, fmt.Sprintf("%dm", cpu), member(made, j))
			made++
		}
	}
	return live.View()
}

func shapeOf(name, cpu, memory, price string) v1alpha1.Shape {
	return v1alpha1.Shape{
		Name: name, Price: ptr.To(resource.MustParse(price)),
		Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
	}
}

// member makes pods of 300 ReplicaSets; every tenth is spread over zones.
func member(n, nth int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		set := n % 300
		p.Labels = map[string]string{"app": fmt.Sprint("a", set)}
		if set%10 == 0 {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
			}}
		}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "rs", Controller: ptr.To(true)}}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct {
		name   string
		full   bool
		change func(*v1alpha1.NodePoolSpec)
	}{
		{"a-tenth-goes", false, func(*v1alpha1.NodePoolSpec) {}},
		{"busy-nodes-are-full", true, func(*v1alpha1.NodePoolSpec) {}},
		{"all-have-drifted", true, func(s *v1alpha1.NodePoolSpec) {
			s.ScaleDown.ReplaceDrifted = true
			s.Template.Shapes = []v1alpha1.Shape{shapeOf("t", "32", "128Gi", "0.80")}
		}},
		{"one-may-replace-many", true, func(s *v1alpha1.NodePoolSpec) {
			s.ScaleDown.SavingThreshold = 10
			s.ScaleDown.UtilizationThreshold = new(int32)
			s.Template.Shapes = []v1alpha1.Shape{shapeOf("s", "32", "128Gi", "0.80"), shapeOf("t", "64", "256Gi", "0.90")}
			s.Limits.MaxNodes = 1100
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := large(c.full, c.change)
			pods := 0
			for _, on := range v.Pods {
				pods += len(on)
			}
			m := reaper.Memory{}.Follow(v, start)
			var d reaper.Decision
			for b.Loop() {
				d = reaper.Decide(v, m.Follow(v, start.Add(time.Hour)), start.Add(time.Hour))
			}
			why := map[reaper.Reason]int{}
			for _, r := range d.Reasons {
				why[r]++
			}
			b.Log(pods, "pods", why)
			b.ReportMetric(float64(len(d.Release)), "released")
			b.ReportMetric(float64(len(d.Order)), "ordered")
			require.Len(b, d.Reasons, 1000)
		})
	}
}
