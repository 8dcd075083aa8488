package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// chooseNodes adds a node selector or required node affinity.
func (m *maker) chooseNodes(d dice, p *corev1.Pod) {
	switch d.IntN(4) {
	case 0:
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: pick(d, zones()...)}
	case 1:
		p.Spec.NodeSelector = map[string]string{diskLabel: pick(d, "ssd", "hdd")}
	default:
		terms := []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{requirement(d)}}}
		if d.once(3) {
			terms[0].MatchExpressions = append(terms[0].MatchExpressions, requirement(d))
		}
		if d.once(3) {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{requirement(d)}})
		}
		if d.once(5) {
			terms = append(terms, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Values: []string{m.name("n%d", d.IntN(10))},
				Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
			}}})
		}
		m.nodeAffinity(p).RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
}

func (m *maker) nodeAffinity(p *corev1.Pod) *corev1.NodeAffinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	return p.Spec.Affinity.NodeAffinity
}

// requirement is about one label, by any operator.
func requirement(d dice) corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{Key: pick(d, corev1.LabelTopologyZone, diskLabel, genLabel, rackLabel)}
	switch d.IntN(6) {
	case 0:
		r.Operator = corev1.NodeSelectorOpExists
	case 1:
		r.Operator = corev1.NodeSelectorOpDoesNotExist
	case 2:
		r.Key, r.Operator, r.Values = genLabel, pick(d, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), []string{fmt.Sprint(d.between(1, 4))}
	default:
		r.Operator = pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		r.Values = map[string][]string{
			corev1.LabelTopologyZone: some(d, zones()...), diskLabel: {pick(d, "ssd", "hdd")},
			genLabel: some(d, "1", "2", "3", "4"), rackLabel: {pick(d, "r1", "r2")},
		}[r.Key]
	}
	return r
}

// spread adds constraints that must hold, one or two in one class of three.
func (m *maker) spread(p *corev1.Pod, c int) {
	d, ok := m.kind(Spread, "class", c)
	if !ok || !d.once(3) {
		return
	}
	keys := some(d, corev1.LabelTopologyZone, corev1.LabelHostname, rackLabel)
	for _, key := range keys[:min(len(keys), d.between(1, 2))] {
		s := corev1.TopologySpreadConstraint{
			MaxSkew: int32(d.between(1, 3)), TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: m.selector(d, pick(d, c, c, c, d.IntN(m.classes))),
		}
		if d.once(4) {
			n := int32(d.between(1, 4))
			s.MinDomains = &n
		}
		if d.once(3) {
			s.NodeAffinityPolicy = policy(d)
		}
		if d.once(3) {
			s.NodeTaintsPolicy = policy(d)
		}
		if d.once(5) {
			s.MatchLabelKeys = []string{"version"}
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, s)
	}
}

func policy(d dice) *corev1.NodeInclusionPolicy {
	p := pick(d, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	return &p
}

// affinity adds required inter-pod rules to one class of three: towards its own pods, or towards others.
func (m *maker) affinity(p *corev1.Pod, c int) {
	d, ok := m.kind(Affinity, "class", c)
	if !ok || !d.once(3) {
		return
	}
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	whose := pick(d, c, c, d.IntN(m.classes+1))
	if d.once(2) {
		p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{m.term(d, whose)},
		}
	}
	if p.Spec.Affinity.PodAffinity == nil || d.once(4) {
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{m.term(d, whose)},
		}
	}
}

// term is about the pods of a class, or of a tier.
func (m *maker) term(d dice, class int) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{
		TopologyKey:   pick(d, corev1.LabelHostname, corev1.LabelHostname, corev1.LabelTopologyZone, rackLabel),
		LabelSelector: m.selector(d, class),
	}
	switch d.IntN(8) {
	case 0:
		t.MatchLabelKeys = []string{"version"}
	case 1:
		t.MismatchLabelKeys = []string{"version"}
	}
	if !m.has(Namespaces) {
		return t
	}
	switch d.IntN(4) {
	case 0:
		t.Namespaces = some(d, "red", "green")
	case 1:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "live"}}
	case 2:
		t.NamespaceSelector = &metav1.LabelSelector{}
	}
	return t
}

func (m *maker) selector(d dice, class int) *metav1.LabelSelector {
	switch d.IntN(6) {
	case 0:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": pick(d, "front", "back")}}
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{fmt.Sprintf("app%d", class), fmt.Sprintf("app%d", d.IntN(m.classes))},
		}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app%d", class)}}
}

// prefer adds rules that need not hold.
func (m *maker) prefer(p *corev1.Pod, c int) {
	d, ok := m.kind(Preferences, "class", c)
	if !ok || !d.once(3) {
		return
	}
	if d.once(2) {
		m.nodeAffinity(p).PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{
			Weight:     int32(d.between(1, 100)),
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{requirement(d)}},
		}}
	}
	if d.once(2) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: pick(d, corev1.LabelHostname, corev1.LabelTopologyZone), WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: m.selector(d, c),
		})
	}
	if d.once(2) {
		m.preferPods(d, p, c)
	}
}

func (m *maker) preferPods(d dice, p *corev1.Pod, c int) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.PodAntiAffinity == nil {
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{
		{Weight: int32(d.between(1, 100)), PodAffinityTerm: m.term(d, c)},
	}
}
