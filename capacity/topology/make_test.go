package topology

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func makeNode(name, zone string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	if zone != "" {
		n.Labels[corev1.LabelTopologyZone] = zone
	}
	return n
}

// app makes a pod of an application in namespace red.
func app(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Labels: map[string]string{"app": name}}}
	for _, f := range change {
		f(p)
	}
	return p
}

func of(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func spreading(key string, skew int32, s *metav1.LabelSelector, change ...func(*corev1.TopologySpreadConstraint)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: skew, LabelSelector: s, WhenUnsatisfiable: corev1.DoNotSchedule,
		}
		for _, f := range change {
			f(&c)
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

func near(key string, s *metav1.LabelSelector, change ...func(*corev1.PodAffinityTerm)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		a := affinityOf(p)
		if a.PodAffinity == nil {
			a.PodAffinity = &corev1.PodAffinity{}
		}
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, makeTerm(key, s, change))
	}
}

func apart(key string, s *metav1.LabelSelector, change ...func(*corev1.PodAffinityTerm)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		a := affinityOf(p)
		if a.PodAntiAffinity == nil {
			a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, makeTerm(key, s, change))
	}
}

func makeTerm(key string, s *metav1.LabelSelector, change []func(*corev1.PodAffinityTerm)) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: s}
	for _, f := range change {
		f(&t)
	}
	return t
}

func affinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func subjectOf(p *corev1.Pod) Subject {
	return Subject{
		Namespace: p.Namespace, Labels: LabelsOf(p.Labels), Rules: Compile(p), Terminating: p.DeletionTimestamp != nil,
	}
}

// scene is a small cluster: nodes a1, a2, b1 in zones a and b, and n, which is in none.
type scene struct {
	*Cluster
	sites map[string]*Site
}

// newScene has pods stand on nodes from the start.
func newScene(expect *corev1.Pod, standing map[string][]*corev1.Pod) *scene {
	s := &scene{sites: map[string]*Site{}}
	names := []string{"a1", "a2", "b1", "n"}
	s.Cluster = NewCluster(Namespaces{"red": {"team": "r"}, "blue": {}}, func(yield func(*Site, Subject) bool) {
		for _, name := range names {
			for _, p := range standing[name] {
				if !yield(s.sites[name], subjectOf(p)) {
					return
				}
			}
		}
	})
	for i, zone := range []string{"a", "a", "b", ""} {
		s.sites[names[i]] = s.Add(makeNode(names[i], zone))
	}
	s.Expect(Compile(expect))
	return s
}

// verdicts says of each node what Judge says of a pod: its name alone where the pod may go there.
func (s *scene) verdicts(p *corev1.Pod) []string {
	k := s.Kind(subjectOf(p))
	var out []string
	for _, name := range []string{"a1", "a2", "b1", "n"} {
		if f := k.Judge(s.sites[name]); f.Cause != None {
			name += fmt.Sprintf(" %d", f.Cause)
		}
		out = append(out, name)
	}
	return out
}
