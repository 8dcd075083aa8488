package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func fieldsOf(values ...[]string) corev1.NodeSelectorTerm {
	t := corev1.NodeSelectorTerm{}
	for _, v := range values {
		t.MatchFields = append(t.MatchFields, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: v})
	}
	return t
}

// pinTo has a pod's node affinity be these terms.
func pinTo(p *corev1.Pod, terms ...corev1.NodeSelectorTerm) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	return p
}

func TestPins(t *testing.T) {
	a, ab, bc := []string{"a"}, []string{"a", "b"}, []string{"b", "c"}
	labelled := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}
	notA := fieldsOf(a)
	notA.MatchFields[0].Operator = corev1.NodeSelectorOpNotIn
	for name, c := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		want  []string
		none  bool
	}{
		"a term that names nodes":             {terms: []corev1.NodeSelectorTerm{fieldsOf(ab)}, want: ab},
		"either of two terms":                 {terms: []corev1.NodeSelectorTerm{fieldsOf(a), fieldsOf(bc)}, want: []string{"a", "b", "c"}},
		"both of two fields":                  {terms: []corev1.NodeSelectorTerm{fieldsOf(ab, bc)}, want: []string{"b"}},
		"fields that contradict each other":   {terms: []corev1.NodeSelectorTerm{fieldsOf(a, bc)}, want: []string{}},
		"a term by label lets all nodes in":   {terms: []corev1.NodeSelectorTerm{fieldsOf(a), labelled}, none: true},
		"not in is no name":                   {terms: []corev1.NodeSelectorTerm{notA}, none: true},
		"no terms":                            {none: true},
		"one of two terms contradicts itself": {terms: []corev1.NodeSelectorTerm{fieldsOf(a, bc), fieldsOf(ab)}, want: ab},
	} {
		t.Run(name, func(t *testing.T) {
			names, pinned := pins(pinTo(pod("p", "1", "1Gi"), c.terms...))
			require.Equal(t, !c.none, pinned)
			if pinned {
				require.Equal(t, c.want, sets.List(names))
			}
		})
	}
	_, pinned := pins(nearTo(pod("p", "1", "1Gi"), "web"))
	require.False(t, pinned, "another kind of affinity")
}

// TestTheExtenderIsOfferedTheNodesThatAPodNames: and is not asked while none of them is there. The pod comes back with the node.
func TestTheExtenderIsOfferedTheNodesThatAPodNames(t *testing.T) {
	late := onNode("late", "4", "8Gi")
	w := newWorld(t, Options{Pools: noGrowth, Nodes: []*corev1.Node{onNode("a", "4", "8Gi"), onNode("b", "4", "8Gi")}},
		Arrival{Pod: pinTo(pod("here", "1", "1Gi"), fieldsOf([]string{"b"}), fieldsOf([]string{"absent"})), Runs: time.Hour},
		Arrival{Pod: pinTo(pod("waits", "1", "1Gi"), fieldsOf([]string{"late"})), Runs: time.Hour},
		Arrival{Pod: pinTo(pod("never", "1", "1Gi"), fieldsOf([]string{"a"}, []string{"b"})), Runs: time.Hour})
	heard := overhear(t, w)
	w.RunUntil(Zero.Add(time.Minute))
	require.Equal(t, [][]string{{"b"}}, slices.CompactFunc(heard["here"], slices.Equal))
	require.Equal(t, "b", nodeOfPod(w, "here"))
	require.Empty(t, heard["waits"])
	require.Empty(t, heard["never"])
	require.Equal(t, "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].", refusal(w, "waits"))
	require.Equal(t, "0/2 nodes are available: pod affinity terms conflict.", refusal(w, "never"))

	w.api.createNode(onNode("other", "4", "8Gi"))
	w.RunUntil(Zero.Add(2 * time.Minute))
	require.Empty(t, heard["waits"], "a node that it does not name is no news to it")
	w.api.createNode(late)
	w.RunUntil(Zero.Add(3 * time.Minute))
	require.Equal(t, "late", nodeOfPod(w, "waits"))
	require.Equal(t, [][]string{{"late"}}, slices.CompactFunc(heard["waits"], slices.Equal))
	require.Empty(t, heard["never"])
}

// refusal is what the scheduler says of a pod.
func refusal(w *World, name string) string {
	return conditionOf(w.api.pods[w.api.podNames["default/"+name]], corev1.PodScheduled).Message
}

// TestHintsOfPins: what NodeAffinity's hint says of a node's change.
func TestHintsOfPins(t *testing.T) {
	p := pinTo(pod("p", "1", "1Gi"), fieldsOf([]string{"a"}))
	p.Spec.NodeSelector = map[string]string{"zone": "z"}
	plain := onNode("a", "1", "1Gi")
	zoned := labelled(plain)
	require.True(t, byPins.hinted(p, change{fresh: zoned}), "it comes as it is wanted")
	require.False(t, byPins.hinted(p, change{fresh: plain}), "it comes without the label")
	require.True(t, byPins.hinted(p, change{old: plain, fresh: zoned}), "it gets the label")
	require.False(t, byPins.hinted(p, change{old: zoned, fresh: taintOf(zoned)}), "it fitted before")
	require.False(t, byPins.hinted(p, change{old: zoned}), "it goes")
	require.False(t, byPins.hinted(p, change{fresh: labelled(onNode("b", "1", "1Gi"))}), "it is another one")
}
