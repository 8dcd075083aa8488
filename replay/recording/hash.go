package recording

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// hasher replaces the names that tell what runs in a cluster: of pods, namespaces, owners, volumes and nodes, and the
// values of pods' labels with the selectors that look for them. The same name is the same everywhere, so all that
// scheduling compares still compares alike. Pools, claims, node labels and taints keep their names.
type hasher struct{ key []byte }

// name is 16 hexadecimal digits that only the key's owner can lead back.
func (h hasher) name(s string) string {
	if len(h.key) == 0 || s == "" {
		return s
	}
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(s))
	return "x" + hex.EncodeToString(mac.Sum(nil)[:8])
}

func (h hasher) call(e *Entry) {
	if e.Call != nil && len(h.key) > 0 {
		e.Call.Node = h.name(e.Call.Node)
	}
}

// object hashes an object that allowed made; what it shares with the original is copied first.
func (h hasher) object(o metav1.Object) metav1.Object {
	if len(h.key) == 0 {
		return o
	}
	switch o := o.(type) {
	case *corev1.Pod:
		o = o.DeepCopy()
		h.meta(&o.ObjectMeta)
		o.Labels = h.values(o.Labels)
		h.podSpec(&o.Spec)
		o.Status.NominatedNodeName = h.name(o.Status.NominatedNodeName)
		return o
	case *appsv1.DaemonSet:
		o = o.DeepCopy()
		h.meta(&o.ObjectMeta)
		o.Labels = h.values(o.Labels)
		h.selector(o.Spec.Selector)
		o.Spec.Template.Labels = h.values(o.Spec.Template.Labels)
		h.podSpec(&o.Spec.Template.Spec)
		return o
	case *corev1.Node:
		o = o.DeepCopy()
		o.Name = h.name(o.Name)
		o.Labels = h.nodeLabels(o.Labels)
		return o
	case *v1alpha1.NodeClaim:
		o = o.DeepCopy()
		o.Status.NodeName, o.Status.Host = h.name(o.Status.NodeName), h.name(o.Status.Host)
		for i := range o.Spec.Reserved {
			r := &o.Spec.Reserved[i]
			r.Namespace, r.Name = h.name(r.Namespace), h.name(r.Name)
		}
		return o
	}
	return o
}

func (h hasher) meta(m *metav1.ObjectMeta) {
	m.Namespace, m.Name = h.name(m.Namespace), h.name(m.Name)
	for i := range m.OwnerReferences {
		m.OwnerReferences[i].Name = h.name(m.OwnerReferences[i].Name)
	}
}

func (h hasher) values(labels map[string]string) map[string]string {
	for k, v := range labels {
		labels[k] = h.name(v)
	}
	return labels
}

// nodeLabels hashes a node's name where it is a label.
func (h hasher) nodeLabels(labels map[string]string) map[string]string {
	if v, there := labels[corev1.LabelHostname]; there {
		labels[corev1.LabelHostname] = h.name(v)
	}
	return labels
}

func (h hasher) podSpec(s *corev1.PodSpec) {
	s.NodeName = h.name(s.NodeName)
	s.NodeSelector = h.nodeLabels(s.NodeSelector)
	for i := range s.TopologySpreadConstraints {
		h.selector(s.TopologySpreadConstraints[i].LabelSelector)
	}
	for i := range s.Volumes {
		if c := s.Volumes[i].PersistentVolumeClaim; c != nil {
			c.ClaimName = h.name(c.ClaimName)
		}
	}
	if a := s.Affinity; a != nil {
		h.affinity(a)
	}
}

func (h hasher) affinity(a *corev1.Affinity) {
	if n := a.NodeAffinity; n != nil {
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				h.nodeTerm(&r.NodeSelectorTerms[i])
			}
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			h.nodeTerm(&n.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
		}
	}
	if p := a.PodAffinity; p != nil {
		h.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		h.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (h hasher) nodeTerm(t *corev1.NodeSelectorTerm) {
	for i := range t.MatchFields { // metadata.name is the only one
		h.list(t.MatchFields[i].Values)
	}
	for i := range t.MatchExpressions {
		if t.MatchExpressions[i].Key == corev1.LabelHostname {
			h.list(t.MatchExpressions[i].Values)
		}
	}
}

func (h hasher) podTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for i := range required {
		h.podTerm(&required[i])
	}
	for i := range preferred {
		h.podTerm(&preferred[i].PodAffinityTerm)
	}
}

func (h hasher) podTerm(t *corev1.PodAffinityTerm) {
	h.list(t.Namespaces)
	h.selector(t.LabelSelector)
	h.selector(t.NamespaceSelector)
}

func (h hasher) selector(s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	s.MatchLabels = h.values(s.MatchLabels)
	for i := range s.MatchExpressions {
		h.list(s.MatchExpressions[i].Values)
	}
}

func (h hasher) list(values []string) {
	for i := range values {
		values[i] = h.name(values[i])
	}
}
