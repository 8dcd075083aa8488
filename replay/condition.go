package replay

import corev1 "k8s.io/api/core/v1"

func conditionOf(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func setCondition(p *corev1.Pod, c corev1.PodCondition) {
	if old := conditionOf(p, c.Type); old != nil {
		*old = c
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
