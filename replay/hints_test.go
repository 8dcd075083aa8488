package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func on(p *corev1.Pod, node string) *corev1.Pod {
	q := p.DeepCopy()
	q.Spec.NodeName = node
	return q
}

func done(p *corev1.Pod) *corev1.Pod {
	q := p.DeepCopy()
	q.Status.Phase = corev1.PodSucceeded
	return q
}

// taintOf is the node with a taint more.
func taintOf(n *corev1.Node) *corev1.Node {
	m := n.DeepCopy()
	m.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}}
	return m
}

func labelled(n *corev1.Node) *corev1.Node {
	m := n.DeepCopy()
	m.Labels["zone"] = "z"
	return m
}

// TestHints: which events bring back a pod that the scheduler's own plugins refused.
func TestHints(t *testing.T) {
	web, db := appOf(pod("other", "1", "1Gi"), "web"), appOf(pod("other", "1", "1Gi"), "db")
	a := onNode("a", "1", "1Gi")
	ported := portOf(pod("p", "1", "1Gi"), 80)
	spread := spreadOf(pod("p", "1", "1Gi"), "web", corev1.LabelHostname)
	near, away := nearTo(pod("p", "1", "1Gi"), "web"), awayFrom(pod("p", "1", "1Gi"), "web")
	for name, c := range map[string]struct {
		by    rejectors
		waits *corev1.Pod
		what  change
		want  bool
	}{
		"a port is free: the pod is gone":           {byPorts, ported, change{old: on(ported, "a")}, true},
		"a port is free: the pod is finished":       {byPorts, ported, change{old: on(ported, "a"), fresh: done(on(ported, "a"))}, true},
		"a finished pod's end is no news":           {byPorts, ported, change{old: done(on(ported, "a"))}, false},
		"another port is free":                      {byPorts, ported, change{old: on(portOf(pod("o", "1", "1Gi"), 81), "a")}, false},
		"a pod without a node had no port":          {byPorts, ported, change{old: ported}, false},
		"a pod with the port comes":                 {byPorts, ported, change{fresh: on(ported, "a")}, false},
		"a node comes":                              {byPorts, ported, change{fresh: a}, true},
		"a node's taints change":                    {byPorts, ported, change{old: a, fresh: taintOf(a)}, true},
		"a node's labels change, for ports":         {byPorts, ported, change{old: a, fresh: labelled(a)}, false},
		"a node goes":                               {byPorts, ported, change{old: a}, false},
		"nothing of a node changes":                 {byPorts | bySpread | byAffinity | byVolumes, spread, change{old: a, fresh: a}, false},
		"a counted pod comes":                       {bySpread, spread, change{old: web, fresh: on(web, "a")}, true},
		"a counted pod goes":                        {bySpread, spread, change{old: on(web, "a")}, true},
		"a pod that is not counted":                 {bySpread, spread, change{old: on(db, "a")}, false},
		"a bound pod's status":                      {bySpread, spread, change{old: on(web, "a"), fresh: on(web, "a")}, false},
		"a node of a domain goes":                   {bySpread, spread, change{old: a}, true},
		"a node without the key comes":              {bySpread, spread, change{fresh: nodeNamed("b", "1", "1Gi")}, false},
		"a node's labels change, for spread":        {bySpread, spread, change{old: a, fresh: labelled(a)}, true},
		"who it wants to be near comes":             {byAffinity, near, change{old: web, fresh: on(web, "a")}, true},
		"who it wants to be near goes":              {byAffinity, near, change{old: on(web, "a")}, false},
		"somebody else comes":                       {byAffinity, near, change{old: db, fresh: on(db, "a")}, false},
		"who it keeps away from goes":               {byAffinity, away, change{old: on(web, "a")}, true},
		"who keeps away from it goes":               {byAffinity, web, change{old: on(away, "a")}, true},
		"who keeps away from others goes":           {byAffinity, db, change{old: on(away, "a")}, false},
		"a node comes, for who keeps away":          {byAffinity, away, change{fresh: a}, true},
		"a node with the key comes":                 {byAffinity, near, change{fresh: a}, true},
		"a node without it comes":                   {byAffinity, near, change{fresh: nodeNamed("b", "1", "1Gi")}, false},
		"a refusal of the extender is not our part": {byExtender, ported, change{fresh: a}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.by.hinted(c.waits, c.what)) })
	}
}
