package replay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

var oneQuantity = resource.NewQuantity(1, resource.DecimalSI)

func pod(name, cpu, memory string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{SchedulerName: Scheduler, Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: resources(cpu, memory)},
		}}},
	}
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// burst is n pods that arrive one interval after another.
func burst(n int, at, interval, runs time.Duration, cpu, memory string) []Arrival {
	var all []Arrival
	for i := range n {
		all = append(all, Arrival{
			At: at + time.Duration(i)*interval, Pod: pod(fmt.Sprintf("p-%d-%03d", int(at.Seconds()), i), cpu, memory), Runs: runs,
		})
	}
	return all
}

func poolOf(name string, maxNodes int32, shapes ...v1alpha1.Shape) *v1alpha1.NodePool {
	return &v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: maxNodes},
			Template:  v1alpha1.NodeTemplate{Shapes: shapes, Overhead: resources("100m", "256Mi")},
			ScaleUp:   v1alpha1.ScaleUp{RegistrationTimeout: duration(5 * time.Minute), MaxAttempts: 3},
			ScaleDown: v1alpha1.ScaleDown{IdleAfter: duration(2 * time.Minute)},
		},
	}
}

func shape(name, cpu, memory string) v1alpha1.Shape {
	return v1alpha1.Shape{Name: name, Resources: resources(cpu, memory)}
}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func simProvider(s v1alpha1.Sim) *v1alpha1.Provider {
	return &v1alpha1.Provider{
		ObjectMeta: metav1.ObjectMeta{Name: "sim"}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim, Sim: &s},
	}
}

func newWorld(t *testing.T, o Options, load ...Arrival) *World {
	t.Helper()
	o.Load = &arrivals{load}
	w, err := New(o)
	require.NoError(t, err)
	return w
}

// nodeNamed is a node that exists already.
func nodeNamed(name, cpu, memory string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = resources(cpu, memory)
	n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}
