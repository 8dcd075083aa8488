package replay

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-sh/muster/capacity/volume"
)

// hinted says whether what happened brings back a pod that plugins of the scheduler's own refused: their EventsToRegister
// and hint functions (pkg/scheduler/framework/plugins). What happens to the pod itself is no such event here: its spec and
// its labels do not change, and none of these plugins looks at its status.
//
// A plugin that registers Node/Add gets Node/UpdateNodeTaint as well (buildQueueingHintMap in pkg/scheduler/scheduler.go).
func (r rejectors) hinted(waits *corev1.Pod, c change) bool {
	if r&^byExtender == 0 {
		return false
	}
	switch o := c.object().(type) {
	case *corev1.Node:
		old, _ := c.old.(*corev1.Node)
		fresh, _ := c.fresh.(*corev1.Node)
		return r.hintedByNode(waits, old, fresh)
	case *corev1.Pod:
		old, _ := c.old.(*corev1.Pod)
		if came, left := comesAndGoes(c, old, o); came || left {
			return r.hintedByPod(waits, o, left)
		}
	}
	return false
}

// comesAndGoes tells an assigned pod's beginning and end. The scheduler's watch leaves finished pods out, so to it they
// are deleted (scheduler.NewInformerFactory).
func comesAndGoes(c change, old, p *corev1.Pod) (came, left bool) {
	left = c.gone() && !finished(p) || !c.gone() && finished(p) && (old == nil || !finished(old))
	came = !left && !c.gone() && !finished(p) && (old == nil || old.Spec.NodeName == "")
	return came && p.Spec.NodeName != "", left && p.Spec.NodeName != ""
}

func (r rejectors) hintedByNode(waits *corev1.Pod, old, fresh *corev1.Node) bool {
	if r.has(byDevices) && fresh != nil && old == nil && len(waits.Spec.ResourceClaims) == 0 { // it may offer the resource itself
		return true
	}
	if r.has(byPins) && fresh != nil && matchesNow(waits, old, fresh) {
		return true
	}
	switch {
	case fresh == nil: // only spread is interested in a node that goes
		return r.has(bySpread) && spreadCounts(waits, old.Labels)
	case old == nil:
		return r.has(byPorts|byVolumes) || r.has(bySpread) && spreadCounts(waits, fresh.Labels) ||
			r.has(byAffinity) && (len(antiTerms(waits)) > 0 || slices.ContainsFunc(affinityTerms(waits), keyOf(fresh)))
	case !equality.Semantic.DeepEqual(old.Spec.Taints, fresh.Spec.Taints):
		return r.has(byPorts|byVolumes|byAffinity) || r.has(bySpread) && (spreadCounts(waits, old.Labels) || spreadCounts(waits, fresh.Labels))
	}
	return !maps.Equal(old.Labels, fresh.Labels) && r.has(bySpread|byAffinity|byVolumes)
}

func keyOf(n *corev1.Node) func(corev1.PodAffinityTerm) bool {
	return func(t corev1.PodAffinityTerm) bool {
		_, has := n.Labels[t.TopologyKey]
		return has
	}
}

func (r rejectors) hintedByPod(waits, other *corev1.Pod, left bool) bool {
	return r.has(byPorts) && left && sharePort(waits, other) ||
		r.has(byVolumes) && left && volume.NewDemand(other) != nil ||
		r.has(bySpread) && waits.Namespace == other.Namespace && slices.ContainsFunc(hardSpread(waits), counts(other)) ||
		r.has(byAffinity) && !left && matchesAll(affinityTerms(waits), waits, other) ||
		r.has(byAffinity) && left && (matchesAll(antiTerms(waits), waits, other) || matchesAll(antiTerms(other), other, waits))
}

// spreadCounts says whether a node with these labels has every key that the pod is spread over.
func spreadCounts(p *corev1.Pod, on map[string]string) bool {
	return !slices.ContainsFunc(hardSpread(p), func(c corev1.TopologySpreadConstraint) bool {
		_, has := on[c.TopologyKey]
		return !has
	})
}

func hardSpread(p *corev1.Pod) []corev1.TopologySpreadConstraint {
	return slices.DeleteFunc(slices.Clone(p.Spec.TopologySpreadConstraints), func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable != corev1.DoNotSchedule
	})
}

func counts(other *corev1.Pod) func(corev1.TopologySpreadConstraint) bool {
	return func(c corev1.TopologySpreadConstraint) bool { return selects(c.LabelSelector, other) }
}

func selects(s *metav1.LabelSelector, p *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || selector.Matches(labels.Set(p.Labels))
}

func affinityTerms(p *corev1.Pod) []corev1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func antiTerms(p *corev1.Pod) []corev1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// matchesAll is podMatchesAllAffinityTerms (interpodaffinity/plugin.go). Hints know no labels of namespaces: a
// namespaceSelector matches where it would match a namespace without any.
func matchesAll(terms []corev1.PodAffinityTerm, of, other *corev1.Pod) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		spaces := t.Namespaces
		if len(spaces) == 0 && t.NamespaceSelector == nil {
			spaces = []string{of.Namespace}
		}
		inSpace := slices.Contains(spaces, other.Namespace) || t.NamespaceSelector != nil && selects(t.NamespaceSelector, &corev1.Pod{})
		return !inSpace || !selects(t.LabelSelector, other)
	})
}

// sharePort says whether two pods could not be on one node for a host port of theirs (HostPortInfo.CheckConflict).
func sharePort(a, b *corev1.Pod) bool {
	return slices.ContainsFunc(hostPorts(a), func(x corev1.ContainerPort) bool {
		return slices.ContainsFunc(hostPorts(b), func(y corev1.ContainerPort) bool {
			return x.HostPort == y.HostPort && orTCP(x.Protocol) == orTCP(y.Protocol) && (anyIP(x.HostIP) || anyIP(y.HostIP) || x.HostIP == y.HostIP)
		})
	})
}

func hostPorts(p *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				ports = append(ports, port)
			}
		}
	}
	return ports
}

func orTCP(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return p
}

func anyIP(ip string) bool { return ip == "" || ip == "0.0.0.0" }
