package fidelity

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (g *gen) spread(p *corev1.Pod) {
	for range 1 + g.IntN(3) {
		c := corev1.TopologySpreadConstraint{
			MaxSkew: int32(1 + g.IntN(3)), TopologyKey: g.topologyKey(), LabelSelector: g.selector(),
			WhenUnsatisfiable: pick(g, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		}
		if g.chance(60) { // the usual: spread among its own kind
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
		}
		if g.chance(30) {
			c.MinDomains = new(int32(1 + g.IntN(5)))
		}
		if g.chance(30) {
			c.NodeAffinityPolicy = new(pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.chance(30) {
			c.NodeTaintsPolicy = new(pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.chance(30) {
			c.MatchLabelKeys = []string{pick(g, "version", "tier", "absent")}
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

func (g *gen) term(p *corev1.Pod) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: g.topologyKey(), LabelSelector: g.selector()}
	if g.chance(50) { // the usual: a rule among its own kind
		t.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
	}
	for g.chance(25) {
		t.Namespaces = append(t.Namespaces, g.namespace())
	}
	switch n := g.IntN(100); {
	case n < 5:
		t.NamespaceSelector = &metav1.LabelSelector{}
	case n < 20:
		t.NamespaceSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{g.requirement(pick(g, "team", "env"))},
		}
	}
	if g.chance(10) {
		t.MatchLabelKeys = []string{pick(g, "version", "tier")}
	}
	if g.chance(10) {
		t.MismatchLabelKeys = []string{pick(g, "tier", "empty")}
	}
	return t
}

func (g *gen) terms(p *corev1.Pod) (hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
	for range 1 + g.IntN(2) {
		hard = append(hard, g.term(p))
	}
	if g.chance(20) {
		soft = append(soft, corev1.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(100)), PodAffinityTerm: g.term(p)})
	}
	if g.chance(10) {
		hard = nil
	}
	return hard, soft
}

func (g *gen) podAffinity(p *corev1.Pod) {
	a := &corev1.PodAffinity{}
	a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution = g.terms(p)
	affinityOf(p).PodAffinity = a
}

func (g *gen) podAntiAffinity(p *corev1.Pod) {
	a := &corev1.PodAntiAffinity{}
	a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution = g.terms(p)
	affinityOf(p).PodAntiAffinity = a
}

// terminating has some pods be on their way out: spread does not count them, affinity does.
func (g *gen) terminating(c *cluster) {
	for _, p := range c.pods {
		if p.Spec.NodeName != "" && g.chance(15) {
			p.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
	}
}

func (g *gen) finished(c *cluster) {
	for _, p := range c.pods {
		if p.Spec.NodeName != "" && g.chance(5) {
			p.Status.Phase = pick(g, corev1.PodSucceeded, corev1.PodFailed)
		}
	}
}

// stray binds a pod to a node that is gone.
func (g *gen) stray(c *cluster) {
	for _, p := range c.pods {
		if p.Spec.NodeName != "" && g.chance(2) {
			p.Spec.NodeName = "gone"
		}
	}
}
