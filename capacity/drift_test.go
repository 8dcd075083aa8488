package capacity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

func driftPool() *v1alpha1.NodePool {
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	return &v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: v1alpha1.NodePoolSpec{Provider: "sim", Template: v1alpha1.NodeTemplate{
			Labels: map[string]string{"rack": "{{.Rack}}"},
			Taints: []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "b", Effect: corev1.TaintEffectNoExecute}},
			Shapes: []v1alpha1.Shape{{Name: "s", Resources: size}},
		}},
	}
}

func TestDriftNamesWhatAMachineWouldHaveNow(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.NodePool)
		want   string
	}{
		"nothing changed":   {func(*v1alpha1.NodePool) {}, ""},
		"another provider":  {func(p *v1alpha1.NodePool) { p.Spec.Provider = "other" }, "provider"},
		"the shape is gone": {func(p *v1alpha1.NodePool) { p.Spec.Template.Shapes[0].Name = "t" }, "shape"},
		"the shape grew": {func(p *v1alpha1.NodePool) {
			p.Spec.Template.Shapes[0].Resources[corev1.ResourceCPU] = resource.MustParse("8")
		}, "shape"},
		"the same size, written otherwise": {func(p *v1alpha1.NodePool) {
			p.Spec.Template.Shapes[0].Resources[corev1.ResourceCPU] = resource.MustParse("4000m")
		}, ""},
		"another label":      {func(p *v1alpha1.NodePool) { p.Spec.Template.Labels["disk"] = "ssd" }, "labels"},
		"a label of a shape": {func(p *v1alpha1.NodePool) { p.Spec.Template.Shapes[0].Labels = map[string]string{"a": "b"} }, "labels"},
		"an annotation":      {func(p *v1alpha1.NodePool) { p.Spec.Template.Annotations = map[string]string{"a": "b"} }, "annotations"},
		"one taint less":     {func(p *v1alpha1.NodePool) { p.Spec.Template.Taints = p.Spec.Template.Taints[:1] }, "taints"},
		"taints in another order": {func(p *v1alpha1.NodePool) {
			taints := p.Spec.Template.Taints
			p.Spec.Template.Taints = []corev1.Taint{taints[1], taints[0]}
		}, ""},
		"settings of the machine": {func(p *v1alpha1.NodePool) { p.Spec.Template.Proxmox = &v1alpha1.ProxmoxMachine{} }, "proxmox"},
		"what is no property of a machine": {func(p *v1alpha1.NodePool) {
			price := resource.MustParse("3")
			p.Spec.Template.Shapes[0].Price, p.Spec.Template.Shapes[0].Watts = &price, 9
			p.Spec.Template.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
			p.Spec.Template.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoSchedule}}
			p.Spec.ScaleUp.MaxAttempts, p.Spec.ScaleDown.Release, p.Spec.Weight = 7, v1alpha1.ReleaseStop, 3
			p.Spec.Template.Hosts = &v1alpha1.HostSelector{}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pool := driftPool()
			claim := capacity.NewClaim(pool, pool.Spec.Template.Shapes[0], 0).DeepCopy()
			changed := pool.DeepCopy()
			c.change(changed)
			require.Equal(t, c.want, capacity.NewDrift(changed).Of(claim))
		})
	}
}

func TestASizeWithinItsRangeHasNotDrifted(t *testing.T) {
	between := func(from, to string) v1alpha1.QuantityRange {
		return v1alpha1.QuantityRange{Min: resource.MustParse(from), Max: resource.MustParse(to), Step: resource.MustParse("1")}
	}
	pool := driftPool()
	claim := capacity.NewClaim(pool, pool.Spec.Template.Shapes[0], 0)
	pool.Spec.Template.Shapes = nil
	pool.Spec.Template.Range = &v1alpha1.ShapeRange{CPU: between("1", "16"), Memory: between("1Gi", "16Gi")}
	require.Empty(t, capacity.NewDrift(pool).Of(claim))
	pool.Spec.Template.Range.CPU = between("1", "3")
	require.Equal(t, "shape", capacity.NewDrift(pool).Of(claim))
	pool.Spec.Template.Range.CPU = between("1", "16")
	pool.Spec.Template.Range.Resources = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	require.Equal(t, "shape", capacity.NewDrift(pool).Of(claim))
}
