package fidelity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Where upstream's code says something that its documentation does not, and where two answers once differed.
func TestNamedCases(t *testing.T) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	absent := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	avoid := func(s *metav1.LabelSelector, namespaces *metav1.LabelSelector) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			affinityOf(p).PodAntiAffinity = &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: corev1.LabelHostname, LabelSelector: s, NamespaceSelector: namespaces}}}
		}
	}
	spread := func(c corev1.TopologySpreadConstraint) func(*corev1.Pod) {
		c.MaxSkew, c.TopologyKey, c.WhenUnsatisfiable = 1, corev1.LabelHostname, corev1.DoNotSchedule
		return func(p *corev1.Pod) { p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c} }
	}
	port := func(ip string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostIP: ip, HostPort: 80, ContainerPort: 80}}
		}
	}
	nothing := func(*corev1.Pod) {}
	for name, c := range map[string]struct {
		standing, pod func(*corev1.Pod)
		fits          string // which of n0, where the other pod stands, and n1
	}{
		"a namespaceSelector that matches no labels means every namespace": {standing: nothing, pod: avoid(web, absent), fits: "n1"},
		"of a pod that stands it means those without the label":            {standing: avoid(web, absent), pod: nothing, fits: "n0 n1"},
		"an empty namespaceSelector means every namespace":                 {standing: avoid(web, &metav1.LabelSelector{}), pod: nothing, fits: "n1"},
		"a spread selector of everything counts nobody": {
			standing: nothing, pod: spread(corev1.TopologySpreadConstraint{LabelSelector: &metav1.LabelSelector{}}), fits: "n0 n1"},
		"a spread selector counts its own kind": {
			standing: nothing, pod: spread(corev1.TopologySpreadConstraint{LabelSelector: web}), fits: "n1"},
		"too few domains leave no room for a second": {
			standing: nothing, pod: spread(corev1.TopologySpreadConstraint{LabelSelector: web, MinDomains: new(int32(3))}), fits: "n1"},
		"an IPv6 wildcard is an address like others": {standing: port("::"), pod: port("10.0.0.1"), fits: "n0 n1"},
		"the IPv4 wildcard takes every address":      {standing: port("::"), pod: port("0.0.0.0"), fits: "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			cl := &cluster{namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "red", Labels: map[string]string{"team": "a"}}}}}
			for i := range 2 {
				n := newGen(0).node(fmt.Sprintf("n%d", i))
				n.Labels, n.Spec = map[string]string{corev1.LabelHostname: n.Name}, corev1.NodeSpec{}
				n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("9")}
				cl.nodes = append(cl.nodes, n)
			}
			cl.pods = []*corev1.Pod{webPod("standing", "n0", c.standing), webPod("pod", "", c.pod)}
			s, err := newScheduler(t.Context())
			require.NoError(t, err)
			sim := simulate(cl.view())
			_, err = s.compare(t.Context(), cl, sim, cl.pending())
			require.NoError(t, err)
			var fits []string
			for _, n := range cl.nodes {
				if sim.Judge(sim.Class(sim.pods["pod"]), sim.places[n.Name]).Fits {
					fits = append(fits, n.Name)
				}
			}
			require.Equal(t, c.fits, strings.Join(fits, " "))
		})
	}
}

func webPod(name, node string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "red", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web"}, Generation: 1,
	}}
	p.Spec.SchedulerName, p.Spec.NodeName = schedulerName, node
	p.Spec.Containers = []corev1.Container{{Name: "main"}}
	if node == "" {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	change(p)
	return p
}
