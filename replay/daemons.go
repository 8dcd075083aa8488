package replay

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity"
)

// daemon is a DaemonSet and what the core makes of it.
type daemon struct {
	set  *appsv1.DaemonSet
	rule *capacity.Daemon
}

// runDaemons puts a pod of every matching DaemonSet on a node that has become ready.
func (p *pods) runDaemons(n *corev1.Node) {
	place := &capacity.Node{Name: n.Name, Object: n}
	for _, d := range p.daemons {
		there := func(pod *corev1.Pod) bool {
			owner := metav1.GetControllerOfNoCopy(pod)
			return owner != nil && owner.UID == d.set.UID
		}
		if !d.rule.Matches(place) || slices.ContainsFunc(p.api.podsOn(n.Name), there) {
			continue
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: d.set.Namespace, Name: d.set.Name + "-" + n.Name, Labels: d.set.Spec.Template.Labels,
				OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(d.set, appsv1.SchemeGroupVersion.WithKind("DaemonSet")),
				},
			},
			Spec:   *d.set.Spec.Template.Spec.DeepCopy(),
			Status: corev1.PodStatus{Phase: corev1.PodPending},
		}
		pod.Spec.NodeName = n.Name
		p.api.createPod(pod)
	}
}
