package planner

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

var update = flag.Bool("update", false, "rewrite the expected part of the stories")

const storyMark = "--- plan\n"

// TestPlanStories reads testdata/plan/*.txt: what there is, one object a line, then the mark, then the plan. Objects
// whose line begins with "then" arrive after the first plan was carried out.
func TestPlanStories(t *testing.T) {
	files, err := filepath.Glob("../../testdata/plan/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			told, want, _ := strings.Cut(string(raw), storyMark)
			got := tellStory(t, told)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(told+storyMark+got), 0o644))
				return
			}
			require.Equal(t, want, got)
		})
	}
}

func tellStory(t *testing.T, text string) string {
	w := newWorld()
	var later []string
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if rest, found := strings.CutPrefix(line, "then "); found {
			later = append(later, rest)
		} else if strings.TrimSpace(line) != "" {
			w.add(t, line)
		}
	}
	plan := w.plan()
	out := planText(plan)
	if len(later) > 0 {
		w.apply(plan, object.Start)
		for _, line := range later {
			w.add(t, line)
		}
		out += "--- then\n" + planText(w.plan())
	}
	return out
}

// add reads one line: a kind, a name and words of the form key=value.
func (w *world) add(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	require.GreaterOrEqual(t, len(words), 2, line)
	l := storyLine{t: t, name: words[1], words: words[2:]}
	switch words[0] {
	case "pool":
		w.pools = append(w.pools, l.pool())
	case "provider":
		w.providers = slices.DeleteFunc(w.providers, func(p *v1alpha1.Provider) bool { return p.Name == l.name })
		if l.has("ready") {
			w.providers = append(w.providers, l.provider())
		}
	case "node":
		w.nodes = append(w.nodes, l.node())
	case "pods":
		w.addPods(l)
	case "claim":
		w.claims = append(w.claims, l.claim(w))
	case "daemon":
		ds := object.DaemonSet(l.name, l.amounts()...)
		ds.Spec.Template.Spec.NodeSelector = l.pairs("select")
		w.daemons = append(w.daemons, ds)
	case "class":
		w.served[l.name] = corev1.ResourceName(l.one("serves"))
	default:
		t.Fatalf("unknown line %q", line)
	}
}

type storyLine struct {
	t     *testing.T
	name  string
	words []string
}

func (l storyLine) all(key string) []string {
	var values []string
	for _, w := range l.words {
		if v, found := strings.CutPrefix(w, key+"="); found {
			values = append(values, v)
		}
	}
	return values
}

func (l storyLine) has(key string) bool { return len(l.all(key)) > 0 }

func (l storyLine) one(key string) string {
	if v := l.all(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (l storyLine) number(key string, otherwise int) int32 {
	if !l.has(key) {
		return int32(otherwise)
	}
	n, err := strconv.Atoi(l.one(key))
	require.NoError(l.t, err)
	return int32(n)
}

// amounts are the resources of a pod, node or DaemonSet as kind, amount, kind, amount, …
func (l storyLine) amounts() []string {
	var out []string
	for _, name := range []string{"cpu", "memory", "ephemeral-storage", "pods", "example.com/gpu", "example.com/fpga"} {
		if l.has(name) {
			out = append(out, name, l.one(name))
		}
	}
	return out
}

// pairs reads words like select=zone:a.
func (l storyLine) pairs(key string) map[string]string {
	out := map[string]string{}
	for _, v := range l.all(key) {
		k, value, _ := strings.Cut(v, ":")
		out[k] = value
	}
	return out
}

func (l storyLine) taints(key string) []corev1.Taint {
	var taints []corev1.Taint
	for _, name := range l.all(key) {
		taints = append(taints, corev1.Taint{Key: name, Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

// softTaints reads words like shunned=old.
func (l storyLine) softTaints() []corev1.Taint {
	taints := l.taints("shunned")
	for i := range taints {
		taints[i].Effect = corev1.TaintEffectPreferNoSchedule
	}
	return taints
}

// listed reads cpu:4,memory:8Gi into a list, and the words without a colon into the rest.
func listed(text string) (corev1.ResourceList, []string) {
	list := corev1.ResourceList{}
	var rest []string
	for _, part := range strings.Split(text, ",") {
		if name, amount, found := strings.Cut(part, ":"); found {
			list[corev1.ResourceName(name)] = resource.MustParse(amount)
			continue
		}
		rest = append(rest, part)
	}
	return list, rest
}

func (l storyLine) pool() *v1alpha1.NodePool {
	p := object.Pool(l.name, l.number("max", 10))
	p.Spec.Weight, p.Spec.Limits.MinNodes = l.number("weight", 0), l.number("min", 0)
	p.Spec.ScaleUp.MaxInFlight = l.number("inflight", 0)
	p.Spec.Template.Labels, p.Spec.Template.Taints = l.pairs("label"), l.taints("taint")
	p.Spec.Template.Taints = append(p.Spec.Template.Taints, l.softTaints()...)
	p.Spec.Template.StartupTaints = l.taints("startup")
	if l.has("provider") {
		p.Spec.Provider = l.one("provider")
	}
	if l.has("limit") {
		p.Spec.Limits.Resources, _ = listed(l.one("limit"))
	}
	if l.has("overhead") {
		p.Spec.Template.Overhead, _ = listed(l.one("overhead"))
	}
	for _, text := range l.all("shape") {
		list, rest := listed(text)
		shape := v1alpha1.Shape{Name: rest[0], Resources: list}
		if len(rest) > 1 {
			shape = priced(shape, strings.TrimPrefix(rest[1], "@"))
		}
		p.Spec.Template.Shapes = append(p.Spec.Template.Shapes, shape)
	}
	if l.has("range") {
		p.Spec.Template.Range = sizeRange(l.one("range"))
	}
	return p
}

// sizeRange reads cpu:2..16/2,memory:4Gi..64Gi/4Gi.
func sizeRange(text string) *v1alpha1.ShapeRange {
	read := regexp.MustCompile(`cpu:(\w+)\.\.(\w+)/(\w+),memory:(\w+)\.\.(\w+)/(\w+)`).FindStringSubmatch(text)
	q := func(i int) resource.Quantity { return resource.MustParse(read[i]) }
	return &v1alpha1.ShapeRange{
		CPU:    v1alpha1.QuantityRange{Min: q(1), Max: q(2), Step: q(3)},
		Memory: v1alpha1.QuantityRange{Min: q(4), Max: q(5), Step: q(6)},
	}
}

func (l storyLine) provider() *v1alpha1.Provider {
	status, reason, _ := strings.Cut(l.one("ready"), ":")
	p := &v1alpha1.Provider{
		ObjectMeta: metav1.ObjectMeta{Name: l.name},
		Status: v1alpha1.ProviderStatus{Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionStatus(status), Reason: reason},
		}},
	}
	if l.has("deleted") {
		p.DeletionTimestamp = new(metav1.NewTime(object.Start))
	}
	return p
}

func (l storyLine) node() *corev1.Node {
	n := object.Node(l.name, l.amounts()...)
	maps.Copy(n.Labels, l.pairs("label"))
	n.Spec.Taints = append(l.taints("taint"), l.softTaints()...)
	n.Spec.Unschedulable = l.has("cordoned")
	return n
}

func (w *world) addPods(l storyLine) {
	for _, p := range w.pending(l.name, int(l.number("n", 1)), l.amounts()...) {
		p.Spec.NodeName, p.Status.NominatedNodeName = l.one("on"), l.one("nominated")
		p.Spec.NodeSelector = l.pairs("select")
		p.Spec.Priority = new(l.number("priority", 0))
		for _, key := range l.all("tolerate") {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
		}
		for key, value := range l.pairs("avoid") {
			p.Spec.Affinity = avoiding(key, value)
		}
		l.wish(p)
		l.rule(p)
		for _, claim := range l.all("device") {
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim})
		}
		if l.has("group") {
			p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new(l.one("group"))}
		}
		if l.has("refuses") {
			w.refused[p.UID] = sets.New(l.all("refuses")...)
		}
	}
}

// wish adds soft rules: prefer=disk:ssd of the node, evenly=KEY and apart=KEY of the pods of this line.
func (l storyLine) wish(p *corev1.Pod) {
	for key, value := range l.pairs("prefer") {
		*p = *object.Preferring(p, 100, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
	}
	p.Labels = map[string]string{"line": l.name}
	own := &metav1.LabelSelector{MatchLabels: p.Labels}
	for _, key := range l.all("evenly") {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: own})
	}
	for _, key := range l.all("apart") {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &corev1.Affinity{}
		}
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: own}}}}
	}
}

func avoiding(key, value string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: []string{value}},
			},
		}}},
	}}
}

// claim makes a claim of a pool's shape: claim batch-000 pool=batch shape=big state=Joining reserved=a-0 ready=-3m next=1m.
func (l storyLine) claim(w *world) *v1alpha1.NodeClaim {
	pool := w.pools[slices.IndexFunc(w.pools, func(p *v1alpha1.NodePool) bool { return p.Name == l.one("pool") })]
	shapes := pool.Spec.Template.Shapes
	shape := shapes[slices.IndexFunc(shapes, func(s v1alpha1.Shape) bool { return s.Name == l.one("shape") })]
	c := capacity.NewClaim(pool, shape, 0)
	c.Name, c.UID = l.name, types.UID("uid-"+l.name)
	c.Status.State, c.Status.NodeName = v1alpha1.ClaimState(l.one("state")), l.one("node")
	for _, uid := range l.all("reserved") {
		c.Spec.Reserved = append(c.Spec.Reserved, v1alpha1.PodReference{Namespace: "default", Name: uid, UID: types.UID(uid)})
	}
	c.Status.ReadyAt, c.Status.NextAttempt = l.moment("ready"), l.moment("next")
	if l.has("failed") {
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionLaunched, Status: "False", Reason: l.one("failed")}}
	}
	if l.has("release") {
		c.Spec.Release = &v1alpha1.Release{Reason: l.one("release")}
	}
	return c
}

func (l storyLine) moment(key string) *metav1.MicroTime {
	if !l.has(key) {
		return nil
	}
	d, err := time.ParseDuration(l.one(key))
	require.NoError(l.t, err)
	return object.Micro(object.Start.Add(d))
}

// planText writes a plan: each machine with its pods, then the outcomes of the pods that were bought nothing.
func planText(p capacity.Plan) string {
	var out strings.Builder
	for _, c := range p.Creates {
		fmt.Fprintf(&out, "create  %s %s for %s\n", c.Claim.Name, c.Claim.Spec.Shape, crowd(podNames(c.Pods)))
	}
	for _, r := range p.Reserve {
		fmt.Fprintf(&out, "reserve %s for %s\n", r.Claim.Name, crowd(podNames(r.Pods)))
	}
	said := map[string][]string{}
	for uid, o := range p.Outcomes {
		if o.Fate != capacity.Ordered {
			text := fmt.Sprintf("%-8s %s", o.Fate, o)
			if o.Fate == capacity.Unserved {
				text = fmt.Sprintf("%-8s %s: %s", o.Fate, o.Reason.Code, o)
			}
			said[text] = append(said[text], string(uid))
		}
	}
	for _, text := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(&out, "%s <- %s\n", text, crowd(said[text]))
	}
	if p.Next > 0 {
		fmt.Fprintf(&out, "next    %s\n", p.Next)
	}
	return out.String()
}

func podNames(pods []*capacity.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

// crowd counts pods by the name of their line.
func crowd(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	counts := map[string]int{}
	for _, name := range names {
		counts[name[:strings.LastIndex(name, "-")]]++
	}
	var parts []string
	for _, base := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[base], base))
	}
	return strings.Join(parts, ", ")
}
