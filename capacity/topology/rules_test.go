package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	zone = corev1.LabelTopologyZone
	host = corev1.LabelHostname
)

type stands = map[string][]*corev1.Pod

// ruleCase is a pod to be placed, pods that stand already, and what is said of a1, a2, b1 and n, the number of a Cause
// behind each that is refused.
type ruleCase struct {
	pod      *corev1.Pod
	standing stands
	want     string
}

func (c ruleCase) check(t *testing.T) {
	t.Helper()
	assert.Equal(t, c.want, strings.Join(newScene(c.pod, c.standing).verdicts(c.pod), ", "))
}

func leaving(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }

func in(namespace string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }

// The rules of podtopologyspread, filtering.go and common.go.
func TestSpread(t *testing.T) {
	web := of("web")
	minimum := func(n int32) func(*corev1.TopologySpreadConstraint) {
		return func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &n }
	}
	for name, c := range map[string]ruleCase{
		"a node without the key is refused": {pod: app("web", spreading(zone, 1, web)), want: "a1, a2, b1, n 1"},
		"the fuller zone is refused": {
			pod: app("web", spreading(zone, 1, web)), standing: stands{"a1": {app("web")}}, want: "a1 2, a2 2, b1, n 1"},
		"more skew lets it in": {
			pod: app("web", spreading(zone, 2, web)), standing: stands{"a1": {app("web")}}, want: "a1, a2, b1, n 1"},
		"a pod that does not match its own selector adds nothing": {
			pod: app("db", spreading(zone, 1, web)), standing: stands{"a1": {app("web")}}, want: "a1, a2, b1, n 1"},
		"pods on their way out do not count": {
			pod: app("web", spreading(zone, 1, web)), standing: stands{"a1": {app("web", leaving)}}, want: "a1, a2, b1, n 1"},
		"pods of other namespaces do not count": {
			pod: app("web", spreading(zone, 1, web)), standing: stands{"a1": {app("web", in("blue"))}}, want: "a1, a2, b1, n 1"},
		"a selector of everything counts nobody": {
			pod: app("web", spreading(zone, 1, &metav1.LabelSelector{})), standing: stands{"a1": {app("web")}}, want: "a1, a2, b1, n 1"},
		"a selector that is not there counts nobody": {
			pod: app("web", spreading(zone, 1, nil)), standing: stands{"a1": {app("web")}}, want: "a1, a2, b1, n 1"},
		"too few domains count as an empty one": {
			pod: app("web", spreading(zone, 1, web, minimum(3))), standing: stands{"a1": {app("web")}, "b1": {app("web")}},
			want: "a1 2, a2 2, b1 2, n 1"},
		"by host, a node without a zone is a domain like others": {
			pod:      app("web", spreading(host, 1, web)),
			standing: stands{"a1": {app("web")}, "a2": {app("web")}, "b1": {app("web")}}, want: "a1 2, a2 2, b1 2, n"},
		"a node that lacks one key counts for none": {
			pod:      app("web", spreading(host, 1, web), spreading(zone, 9, web)),
			standing: stands{"a1": {app("web")}, "a2": {app("web")}, "b1": {app("web")}}, want: "a1, a2, b1, n 1"},
		"nodes that the pod's affinity leaves out do not count": {
			pod:      app("web", spreading(host, 1, web), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{zone: "a"} }),
			standing: stands{"a1": {app("web")}, "a2": {app("web")}}, want: "a1, a2, b1, n"},
		"unless the policy is to ignore it": {
			pod: app("web", spreading(host, 1, web, func(c *corev1.TopologySpreadConstraint) {
				c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
			}), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{zone: "a"} }),
			standing: stands{"a1": {app("web")}, "a2": {app("web")}}, want: "a1 2, a2 2, b1, n"},
		"keys of the pod's own labels narrow the selector": {
			pod: app("web", func(p *corev1.Pod) { p.Labels["v"] = "2" }, spreading(zone, 1, web,
				func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"v", "absent"} })),
			standing: stands{"a1": {app("web")}}, want: "a1, a2, b1, n 1"},
		"ScheduleAnyway refuses nobody": {
			pod:      app("web", spreading(zone, 1, web, func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway })),
			standing: stands{"a1": {app("web")}}, want: "a1, a2, b1, n"},
	} {
		t.Run(name, c.check)
	}
}

// The rules of interpodaffinity, filtering.go.
func TestPodAffinity(t *testing.T) {
	web, db := of("web"), of("db")
	everywhere := func(t *corev1.PodAffinityTerm) { t.NamespaceSelector = &metav1.LabelSelector{} }
	without := func(key string) func(*corev1.PodAffinityTerm) {
		return func(t *corev1.PodAffinityTerm) {
			t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}}}
		}
	}
	for name, c := range map[string]ruleCase{
		"nobody to be near to":             {pod: app("web", near(zone, db)), want: "a1 3, a2 3, b1 3, n 3"},
		"the first of its own kind may go": {pod: app("web", near(zone, web)), want: "a1, a2, b1, n 3"},
		"the second goes where the first is": {
			pod: app("web", near(zone, web)), standing: stands{"a1": {app("web")}}, want: "a1, a2, b1 3, n 3"},
		"one that stands where the key is missing does not count": {
			pod: app("web", near(zone, web)), standing: stands{"n": {app("web")}}, want: "a1, a2, b1, n 3"},
		"pods on their way out are company": {
			pod: app("web", near(zone, db)), standing: stands{"b1": {app("db", leaving)}}, want: "a1 3, a2 3, b1, n 3"},
		"one pod has to match all terms": {
			pod:      app("web", near(zone, db), near(host, of("cache"))),
			standing: stands{"a1": {app("db"), app("cache")}}, want: "a1 3, a2 3, b1 3, n 3"},
		"pods of other namespaces are no company": {
			pod: app("web", near(zone, db)), standing: stands{"a1": {app("db", in("blue"))}}, want: "a1 3, a2 3, b1 3, n 3"},
		"unless all namespaces are meant": {
			pod: app("web", near(zone, db, everywhere)), standing: stands{"a1": {app("db", in("blue"))}}, want: "a1, a2, b1 3, n 3"},
		"a selector of namespaces that matches no labels matches every namespace": {
			pod: app("web", apart(zone, db, without("team"))), standing: stands{"a1": {app("db")}}, want: "a1 4, a2 4, b1, n"},
		"in a pod that stands it matches by the labels there are": {
			pod: app("web"), standing: stands{"a1": {app("db", in("blue"), apart(zone, web, without("team")))}}, want: "a1, a2, b1, n"},
		"away from its own kind": {
			pod: app("web", apart(host, web)), standing: stands{"a1": {app("web")}}, want: "a1 4, a2, b1, n"},
		"away where the key is missing is no demand": {
			pod: app("web", apart(zone, web)), standing: stands{"n": {app("web")}}, want: "a1, a2, b1, n"},
		"a pod that stands keeps others away": {
			pod: app("web"), standing: stands{"b1": {app("db", apart(zone, web))}}, want: "a1, a2, b1 5, n"},
		"but not those it does not mean": {
			pod: app("cache"), standing: stands{"b1": {app("db", apart(zone, web))}}, want: "a1, a2, b1, n"},
	} {
		t.Run(name, c.check)
	}
}

func TestSelectorsThatDoNotParse(t *testing.T) {
	odd := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	assert.Nil(t, Compile(app("web")), "no rules at all")
	for _, rule := range []func(*corev1.Pod){spreading(zone, 1, odd), near(zone, odd), apart(zone, odd)} {
		assert.Error(t, Compile(app("web", rule)).Err)
	}
	ruleCase{
		pod: app("web"), standing: stands{"a1": {app("db", apart(zone, of("web")), apart(zone, odd))}}, want: "a1, a2, b1, n",
	}.check(t) // of a pod whose terms do not all parse none counts
}

// What is wished for is judged like a rule, and only where somebody insists.
func TestWishes(t *testing.T) {
	p := app("web", spreading(zone, 1, of("web"), func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }))
	affinityOf(p).PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{Weight: 7, PodAffinityTerm: makeTerm(host, of("web"), nil)}}}
	affinityOf(p).PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{Weight: 9, PodAffinityTerm: makeTerm(zone, of("db"), nil)}}}
	s := newScene(p, stands{"a1": {app("web")}, "b1": {app("db")}})
	k := s.Kind(subjectOf(p))
	wishes := k.subject.Rules.Wishes()
	assert.Equal(t, []int32{0, 9, 7}, []int32{wishes[0].Weight, wishes[1].Weight, wishes[2].Weight})
	assert.True(t, k.Free())
	for i, want := range []map[string]Cause{
		{"a1": Spread, "a2": Spread, "n": SpreadKey}, {"a1": Affinity, "a2": Affinity, "n": Affinity}, {"a1": AntiAffinity},
	} {
		insisted := s.Insist(k, wishes[i:i+1])
		for name, site := range s.sites {
			assert.Equal(t, want[name], insisted.Judge(site).Cause, "wish %d on %s", i, name)
		}
	}
}
