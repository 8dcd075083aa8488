package world

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Labels of nodes beside their zone.
const (
	diskLabel = "example.com/disk"
	genLabel  = "example.com/generation" // a number
	rackLabel = "example.com/rack"
)

const gpu = "example.com/gpu"

func zones() []string { return []string{"a", "b", "c"} }

func (m *maker) pools() {
	d := m.dice("pools")
	for i := range d.between(1, 4) {
		m.Pools = append(m.Pools, m.pool(i))
	}
}

func (m *maker) pool(i int) *v1alpha1.NodePool {
	d := m.dice("pool", i)
	p := &v1alpha1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: m.name("%c", 'p'+i)},
		Spec: v1alpha1.NodePoolSpec{
			Provider: Provider,
			Template: v1alpha1.NodeTemplate{Labels: m.nodeLabels("pool", i)},
			Limits:   v1alpha1.Limits{MaxNodes: int32(d.between(8, 20))},
			ScaleUp: v1alpha1.ScaleUp{
				RegistrationTimeout: &metav1.Duration{Duration: 2 * time.Minute}, MaxAttempts: 3,
			},
			ScaleDown: v1alpha1.ScaleDown{Disabled: true},
		},
	}
	for n := range d.between(1, 4) {
		p.Spec.Template.Shapes = append(p.Spec.Template.Shapes, m.shape(i, n))
	}
	if d, ok := m.kind(Taints, "pool", i); ok {
		p.Spec.Template.Taints = randomTaints(d, 3)
		if d.once(3) {
			p.Spec.Template.StartupTaints = []corev1.Taint{{Key: StartupTaint, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	if d, ok := m.kind(Limits, "pool", i); ok {
		limit(d, p)
	}
	return p
}

func (m *maker) shape(pool, n int) v1alpha1.Shape {
	d := m.dice("shape", pool, n)
	cores := pick(d, 2, 4, 6, 8, 16)
	s := v1alpha1.Shape{Name: fmt.Sprintf("s%d", n), Resources: corev1.ResourceList{
		"cpu": count(cores), "memory": memory(cores * 1024 * pick(d, 1, 2, 4)),
	}}
	if d, ok := m.kind(Extended, "shape", pool, n); ok {
		if d.once(3) {
			s.Resources[gpu] = count(d.between(1, 4))
		}
		if d.once(5) {
			s.Resources["pods"] = count(d.between(3, 12))
		}
	}
	if d, ok := m.kind(Labels, "shape", pool, n); ok && d.once(4) {
		s.Labels = map[string]string{diskLabel: pick(d, "ssd", "hdd")}
	}
	return s
}

// limit makes a pool tight, dear, preferred or all of these.
func limit(d dice, p *v1alpha1.NodePool) {
	p.Spec.Weight = int32(d.IntN(3))
	if d.once(3) {
		p.Spec.Limits.MaxNodes = int32(d.between(0, 3))
	}
	if d.once(4) {
		p.Spec.Limits.Resources = corev1.ResourceList{"cpu": count(d.between(4, 40))}
	}
	if d.once(2) {
		p.Spec.Template.Overhead = corev1.ResourceList{"cpu": cpu(d.between(1, 4) * 100), "memory": memory(d.between(1, 6) * 100)}
	}
	if d.once(3) {
		for i := range p.Spec.Template.Shapes {
			price := *resource.NewMilliQuantity(int64(d.between(50, 900)), resource.DecimalSI)
			p.Spec.Template.Shapes[i].Price = &price
		}
	} else if d.once(3) {
		p.Spec.Template.Shapes = nil
		p.Spec.Template.Range = &v1alpha1.ShapeRange{
			CPU:    v1alpha1.QuantityRange{Min: count(d.between(1, 2)), Max: count(d.between(4, 16)), Step: count(d.between(1, 2))},
			Memory: v1alpha1.QuantityRange{Min: memory(2048), Max: memory(1024 * d.between(8, 48)), Step: memory(1024 * d.between(1, 2))},
		}
	}
}

// nodeLabels are those of a node or of a pool's nodes. Few nodes have no zone.
func (m *maker) nodeLabels(what string, i int) map[string]string {
	labels := map[string]string{}
	if d := m.dice("zone/"+what, i); !d.once(8) {
		labels[corev1.LabelTopologyZone] = pick(d, zones()...)
	}
	d, ok := m.kind(Labels, what, i)
	if !ok {
		return labels
	}
	if d.once(2) {
		labels[diskLabel] = pick(d, "ssd", "hdd")
	}
	if d.once(2) {
		labels[genLabel] = fmt.Sprint(d.between(1, 4))
	}
	if d.once(2) {
		labels[rackLabel] = pick(d, "r1", "r2")
	}
	return labels
}

// randomTaints are none most of the time: one throw in n has some.
func randomTaints(d dice, n int) []corev1.Taint {
	if !d.once(n) {
		return nil
	}
	all := []corev1.Taint{
		{Key: "example.com/dedicated", Value: pick(d, "red", "blue"), Effect: corev1.TaintEffectNoSchedule},
		{Key: "example.com/fragile", Effect: corev1.TaintEffectNoExecute},
		{Key: "example.com/slow", Value: "yes", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	return all[d.IntN(3):][:1]
}
