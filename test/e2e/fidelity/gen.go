package fidelity

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gen makes up clusters. Everything in them is drawn from few values, so that rules meet what they speak about.
type gen struct {
	*rand.Rand
	count int // pods so far

	seed    uint64
	volumes int // how many pods of a hundred have some
	sizes   int // volumes so far
}

func newGen(seed uint64) *gen { return &gen{Rand: rand.New(rand.NewPCG(seed, 20261121)), seed: seed} }

// What a pod, a node and a cluster may have. A kind of constraint is one entry; each is there in some pods and not in
// others, and some clusters have none of a kind at all.
var (
	podFeatures = []func(*gen, *corev1.Pod){
		(*gen).resources, (*gen).tolerations, (*gen).nodeSelector, (*gen).nodeAffinity, (*gen).hostPorts,
		(*gen).spread, (*gen).podAffinity, (*gen).podAntiAffinity,
	}
	nodeFeatures    = []func(*gen, *corev1.Node){(*gen).topology, (*gen).taints, (*gen).allocatable}
	clusterFeatures = []func(*gen, *cluster){(*gen).terminating, (*gen).finished, (*gen).stray}
)

func (g *gen) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *gen, from ...T) T { return from[g.IntN(len(from))] }

// cluster makes a cluster: nodes, pods on some of them, pods to be judged.
func (g *gen) cluster() *cluster {
	c := &cluster{namespaces: g.namespaceObjects()}
	for i := range 1 + g.IntN(10) {
		c.nodes = append(c.nodes, g.node(fmt.Sprintf("n%d", i)))
	}
	// Each cluster uses some of the constraints, at a rate of its own.
	rates := make([]int, len(podFeatures))
	for i := range rates {
		rates[i] = pick(g, 0, 0, 15, 50, 90)
	}
	if g.volumes > 0 && g.chance(60) {
		clear(rates)
	}
	for range g.IntN(25) {
		p := g.pod(rates)
		p.Spec.NodeName = pick(g, c.nodes...).Name
		if g.chance(15) {
			p.Spec.NodeName, p.Status.NominatedNodeName = "", p.Spec.NodeName
		}
		c.pods = append(c.pods, p)
	}
	for range 4 + g.IntN(12) {
		p := g.pod(rates)
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		c.pods = append(c.pods, p)
	}
	for _, add := range clusterFeatures {
		add(g, c)
	}
	return c
}

func (g *gen) node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	for _, add := range nodeFeatures {
		add(g, n)
	}
	return n
}

func (g *gen) pod(rates []int) *corev1.Pod {
	g.count++
	name := fmt.Sprintf("p%d", g.count)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: g.namespace(), Name: name, UID: types.UID(name), Labels: g.labels(), Generation: 1, ResourceVersion: "1",
	}}
	p.Spec.SchedulerName = schedulerName
	p.Spec.Containers = []corev1.Container{{Name: "main"}}
	for i, add := range podFeatures {
		if g.chance(rates[i]) {
			add(g, p)
		}
	}
	if g.volumes > 0 && g.chance(g.volumes) {
		g.mounts(p)
	}
	return p
}

// namespaceObjects leaves one of the namespaces out now and then, as a watch that is late would.
func (g *gen) namespaceObjects() []*corev1.Namespace {
	var out []*corev1.Namespace
	for i, name := range []string{"red", "green", "blue"} {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		if i < 2 {
			n.Labels["team"] = pick(g, "a", "b")
		}
		if g.chance(50) {
			n.Labels["env"] = pick(g, "prod", "test")
		}
		if g.chance(95) {
			out = append(out, n)
		}
	}
	return out
}

func (g *gen) namespace() string { return pick(g, "red", "red", "green", "blue") }

func (g *gen) labels() map[string]string {
	l := map[string]string{}
	if g.chance(90) {
		l["app"] = pick(g, "web", "db", "cache")
	}
	if g.chance(40) {
		l["tier"] = pick(g, "front", "back")
	}
	if g.chance(40) {
		l["version"] = pick(g, "1", "2")
	}
	if g.chance(10) {
		l["empty"] = ""
	}
	return l
}

// selector is nil, empty, or has a few requirements; one that does not parse is rare, since the API server refuses it.
func (g *gen) selector() *metav1.LabelSelector {
	switch n := g.IntN(100); {
	case n < 3:
		return nil
	case n < 8:
		return &metav1.LabelSelector{}
	case n == 8 && g.chance(30):
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	}
	s := &metav1.LabelSelector{}
	if g.chance(70) {
		s.MatchLabels = map[string]string{"app": pick(g, "web", "db", "cache")}
	}
	for g.chance(30) {
		s.MatchExpressions = append(s.MatchExpressions, g.requirement(pick(g, "app", "tier", "version", "empty")))
	}
	return s
}

func (g *gen) requirement(key string) metav1.LabelSelectorRequirement {
	values := map[string][]string{
		"app": {"web", "db", "cache"}, "tier": {"front", "back"}, "version": {"1", "2"}, "empty": {""},
		"team": {"a", "b"}, "env": {"prod", "test"},
	}[key]
	r := metav1.LabelSelectorRequirement{Key: key, Operator: pick(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
	if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
		r.Values = []string{pick(g, values...)}
		if g.chance(30) {
			r.Values = append(r.Values, pick(g, values...))
		}
	}
	return r
}

func (g *gen) topologyKey() string {
	return pick(g, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelHostname, "rack", "absent")
}
