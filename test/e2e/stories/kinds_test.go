package stories

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/test/e2e/stage"
)

// kindOfPod is a pod that is special in one way.
type kindOfPod struct {
	name     string
	requests corev1.ResourceList
	edit     func(*corev1.Pod)
}

func kindsOfPods() []kindOfPod {
	one := stage.Resources("cpu", "1", "memory", "1Gi")
	always := corev1.ContainerRestartPolicyAlways
	return []kindOfPod{
		{"plain", one, func(*corev1.Pod) {}},
		{"no-requests", nil, func(*corev1.Pod) {}},
		{"too-large", stage.Resources("cpu", "64", "memory", "1Ti"), func(*corev1.Pod) {}},
		{"two-containers", one, func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, container("second", "500m", "2Gi"))
		}},
		{"init-container", one, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{container("init", "3", "512Mi")}
		}},
		{"sidecar", one, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{container("sidecar", "250m", "128Mi"), container("init", "2", "64Mi")}
			p.Spec.InitContainers[0].RestartPolicy = &always
		}},
		{"overhead", one, func(p *corev1.Pod) { boxed := "boxed"; p.Spec.RuntimeClassName = &boxed }},
		{"pod-level-resources", one, func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: stage.Resources("cpu", "2", "memory", "3Gi")}
		}},
		{"ephemeral-storage", stage.Resources("cpu", "1", "ephemeral-storage", "10Gi"), func(*corev1.Pod) {}},
		{"extended-resource", stage.Resources("cpu", "1", "example.com/gpu", "2"), func(*corev1.Pod) {}},
		{"huge-pages", stage.Resources("cpu", "1", "memory", "1Gi", "hugepages-2Mi", "512Mi"), func(*corev1.Pod) {}},
		{"fractions", stage.Resources("cpu", "333m", "memory", "123456789"), func(*corev1.Pod) {}},
		{"node-selector", one, stage.WithNodeSelector("example.com/disk", "fast")},
		{"node-affinity", one, func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{NodeAffinity: nodeAffinity()} }},
		{"affinity", one, func(p *corev1.Pod) { p.Spec.Affinity = podAffinity() }},
		{"toleration", one, stage.WithToleration("example.com/dedicated")},
		{"tolerates-all", one, stage.WithToleration("")},
		{"host-port", one, stage.WithHostPort(8080)},
		{"spread", one, func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "story"}},
			}}
		}},
		{"priority", one, func(p *corev1.Pod) { p.Spec.PriorityClassName = "recorded" }},
	}
}

func container(name, cpu, memory string) corev1.Container {
	return corev1.Container{Name: name, Image: "none.invalid/none", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)},
	}}
}

func nodeAffinity() *corev1.NodeAffinity {
	zone := func(operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: operator, Values: values},
		}}
	}
	return &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			zone(corev1.NodeSelectorOpIn, "east", "west"), zone(corev1.NodeSelectorOpDoesNotExist),
		}},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 10, Preference: zone(corev1.NodeSelectorOpIn, "east")},
		},
	}
}

func podAffinity() *corev1.Affinity {
	others := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"e2e.muster.sh/kind": "affinity"}}}
	return &corev1.Affinity{
		NodeAffinity:    nodeAffinity(),
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{others}},
		PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 5, PodAffinityTerm: others},
		}},
	}
}
