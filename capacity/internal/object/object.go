// Package object makes the objects of the API that tests of the core talk about. Nothing but tests uses it.
package object

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Start is when tests begin.
var Start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// At is so long after Start.
func At(seconds int) time.Time { return Start.Add(time.Duration(seconds) * time.Second) }

// Amounts reads kind, amount, kind, amount, …
func Amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// Container asks for the given amounts.
func Container(name string, pairs ...string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: Amounts(pairs...)}}
}

// Sidecar is an init container that stays.
func Sidecar(name string, pairs ...string) corev1.Container {
	c := Container(name, pairs...)
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return c
}

// Pod makes a pod of scheduler muster that asks for the given amounts.
func Pod(name string, pairs ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Generation: 1,
			CreationTimestamp: metav1.NewTime(Start),
		},
		Spec: corev1.PodSpec{SchedulerName: "muster", Containers: []corev1.Container{Container("main", pairs...)}},
	}
}

// Bound is the pod on a node.
func Bound(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}

// Nominated is the pod with a nominated node.
func Nominated(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Status.NominatedNodeName = node
	return p
}

// Unscheduled sets the PodScheduled condition to False with a reason.
func Unscheduled(p *corev1.Pod, reason string) *corev1.Pod {
	p = p.DeepCopy()
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason},
	}
	return p
}

// Owned is the pod with a controller.
func Owned(p *corev1.Pod, kind, uid string) *corev1.Pod {
	p = p.DeepCopy()
	p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: uid, UID: types.UID(uid), Controller: new(true)}}
	return p
}

// Node makes a node with the given allocatable and room for 110 pods.
func Node(name string, pairs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = Amounts(pairs...)
	if _, ok := n.Status.Allocatable[corev1.ResourcePods]; !ok {
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	}
	return n
}

// Tainted is the node with one taint more.
func Tainted(n *corev1.Node, key string, effect corev1.TaintEffect) *corev1.Node {
	n = n.DeepCopy()
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	return n
}

// DaemonSet makes one whose pods ask for the given amounts.
func DaemonSet(name string, pairs ...string) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name)}}
	ds.Spec.Template.Spec.Containers = []corev1.Container{Container("main", pairs...)}
	return ds
}

// Claim makes a Ready claim for a node, with room kept for the given pods.
func Claim(name, node string, reserved ...string) *v1alpha1.NodeClaim {
	c := &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(Start)},
		Spec: v1alpha1.NodeClaimSpec{
			Pool: "pool", Provider: "sim", Shape: "small", Resources: Amounts("cpu", "4", "memory", "8Gi"),
		},
		Status: v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: node, ReadyAt: Micro(Start)},
	}
	for _, uid := range reserved {
		c.Spec.Reserved = append(c.Spec.Reserved, v1alpha1.PodReference{Namespace: "default", Name: uid, UID: types.UID(uid)})
	}
	return c
}

// Micro is a time as claims have it.
func Micro(t time.Time) *metav1.MicroTime { return new(metav1.NewMicroTime(t)) }

// Time is a time in whole seconds.
func Time(t time.Time) *metav1.Time { return new(metav1.NewTime(t)) }

// InState is the claim in another state.
func InState(c *v1alpha1.NodeClaim, state v1alpha1.ClaimState) *v1alpha1.NodeClaim {
	c = c.DeepCopy()
	c.Status.State = state
	return c
}

// Pool makes a pool of provider sim with at most so many nodes.
func Pool(name string, most int32, shapes ...v1alpha1.Shape) *v1alpha1.NodePool {
	return &v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("pool-" + name)},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: most}, Template: v1alpha1.NodeTemplate{Shapes: shapes},
			ScaleUp: v1alpha1.ScaleUp{MaxAttempts: 3, RegistrationTimeout: &metav1.Duration{Duration: 10 * time.Minute}},
		},
	}
}

// Shape makes a shape of the given amounts.
func Shape(name string, pairs ...string) v1alpha1.Shape {
	return v1alpha1.Shape{Name: name, Resources: Amounts(pairs...)}
}

// SpreadOver makes a pod of application web that is spread over a key.
func SpreadOver(p *corev1.Pod, key string, action corev1.UnsatisfiableConstraintAction) *corev1.Pod {
	p.Labels = map[string]string{"app": "web"}
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: action, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}})
	return p
}

// InZone makes a node of a zone.
func InZone(n *corev1.Node, zone string) *corev1.Node {
	n.Labels[corev1.LabelTopologyZone] = zone
	return n
}

// Ported makes a pod take a host port.
func Ported(p *corev1.Pod, port int32) *corev1.Pod {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port}}
	return p
}

// Preferring has a pod prefer nodes by a requirement.
func Preferring(p *corev1.Pod, weight int32, r corev1.NodeSelectorRequirement) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: weight, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}}}},
	}}
	return p
}

// Labelled makes a pod one of an application.
func Labelled(p *corev1.Pod, app string) *corev1.Pod {
	p.Labels = map[string]string{"app": app}
	return p
}

// AvoidingPods keeps a pod off the domains of pods with a label app.
func AvoidingPods(p *corev1.Pod, key, app string) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}}}
	return p
}

// GivenBack is a claim whose machine of this attempt did not come up, of three at most.
func GivenBack(c *v1alpha1.NodeClaim, attempt int32) *v1alpha1.NodeClaim {
	c = InState(c, v1alpha1.ClaimReleasing)
	c.Spec.MaxAttempts, c.Status.Attempts = 3, attempt
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReleased, Status: metav1.ConditionFalse, Reason: "RegistrationTimeout"}}
	return c
}

// SpreadEvenly has the pods with the pod's label app differ by one at most between the domains of a key.
func SpreadEvenly(p *corev1.Pod, key, app string) *corev1.Pod {
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}})
	return p
}

// WithPriority is the pod with a priority.
func WithPriority(p *corev1.Pod, priority int32) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.Priority = &priority
	return p
}
