package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// FuzzPlan plans for pods, machines and limits of any size: no panic, no machine above a limit, and what is promised to a
// pod is there when it is added up without rounding.
func FuzzPlan(f *testing.F) {
	f.Add("500m", "1Gi", "1", "4", "8Gi", "200m", "16", uint8(9))
	f.Add("10E", "1Gi", "0", "4", "8Gi", "0", "16", uint8(2))
	f.Add("-1", "-1Gi", "-1", "4", "8Gi", "5", "16", uint8(3))
	f.Add("1n", "9223372036854775807", "100E", "9E", "9E", "-4", "9E", uint8(200))
	f.Add("0", "0", "0", "1u", "1m", "0", "0", uint8(120))
	f.Fuzz(func(t *testing.T, cpu, memory, gpu, shapeCPU, shapeMemory, overhead, limit string, pods uint8) {
		q := map[string]resource.Quantity{}
		for _, text := range []string{cpu, memory, gpu, shapeCPU, shapeMemory, overhead, limit} {
			if len(text) > 30 {
				return // quantities of hundreds of digits only cost time
			}
			parsed, err := resource.ParseQuantity(text)
			if err != nil {
				return // no quantity
			}
			q[text] = parsed
		}
		shape := object.Shape("s")
		shape.Resources = corev1.ResourceList{
			"cpu": q[shapeCPU], "memory": q[shapeMemory], "example.com/gpu": resource.MustParse("2"),
		}
		pool := object.Pool("p", 5, shape)
		pool.Spec.Limits.Resources = corev1.ResourceList{"cpu": q[limit]}
		pool.Spec.Template.Overhead = corev1.ResourceList{"cpu": q[overhead]}
		w := newWorld(pool)
		requests := corev1.ResourceList{"cpu": q[cpu], "memory": q[memory], "example.com/gpu": q[gpu]}
		for _, p := range w.pending("x", int(pods)) {
			p.Spec.Containers[0].Resources.Requests = requests
		}
		w.pending("small", 3, "cpu", "10m")
		checkBought(t, w.plan(), requests, q[limit], q[overhead])
	})
}

func checkBought(t *testing.T, p capacity.Plan, requests corev1.ResourceList, limit, overhead resource.Quantity) {
	if len(p.Creates) > 5 {
		t.Fatalf("%d machines, 5 allowed", len(p.Creates))
	}
	total := resource.Quantity{}
	for _, c := range p.Creates {
		total.Add(c.Claim.Spec.Resources["cpu"])
		for _, name := range []corev1.ResourceName{"cpu", "memory", "example.com/gpu"} {
			asked := resource.Quantity{}
			for _, pod := range c.Pods {
				switch {
				case pod.Name[0] == 'x':
					asked.Add(requests[name])
				case name == "cpu":
					asked.Add(resource.MustParse("10m"))
				}
			}
			if name == "cpu" {
				asked.Add(overhead)
			}
			have := c.Claim.Spec.Resources[name]
			if want := requests[name]; want.Sign() > 0 && len(c.Pods) > 0 && asked.Cmp(have) > 0 {
				t.Fatalf("%s: %s asked of %s %s", c.Claim.Name, asked.String(), have.String(), name)
			}
		}
	}
	if len(p.Creates) > 0 && total.Cmp(limit) > 0 {
		t.Fatalf("%s cpu bought, limit %s", total.String(), limit.String())
	}
}
