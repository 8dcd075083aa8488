package capacity

import (
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
)

// model is a cluster as plain objects. All that Live counts one event at a time, it counts from the start.
type model struct {
	nodes   map[string]*corev1.Node
	pods    map[types.UID]*corev1.Pod
	claims  map[string]*v1alpha1.NodeClaim
	daemons map[types.UID]*appsv1.DaemonSet
	holds   map[types.UID]modelHold
	closed  map[string]bool
	expired map[types.UID]bool
	short   map[types.UID]string // with the signature they had
	gone    map[types.UID]bool
	// expected is where a plan sends pods.
	expected map[types.UID]string
	classes  Classes
}

type modelHold struct {
	pod       *corev1.Pod
	node      string
	nominated bool
}

func newModel() *model {
	return &model{
		nodes: map[string]*corev1.Node{}, pods: map[types.UID]*corev1.Pod{}, claims: map[string]*v1alpha1.NodeClaim{},
		daemons: map[types.UID]*appsv1.DaemonSet{}, holds: map[types.UID]modelHold{}, closed: map[string]bool{},
		expired: map[types.UID]bool{}, short: map[types.UID]string{}, gone: map[types.UID]bool{}, classes: Classes{},
	}
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func pending(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && !finished(p) && p.DeletionTimestamp == nil && len(p.Spec.SchedulingGates) == 0
}

func ownerOf(p *corev1.Pod) (uid types.UID, kind string) {
	for _, o := range p.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return o.UID, o.Kind
		}
	}
	return "", ""
}

// boundTo lists the pods that take room of a node.
func (m *model) boundTo(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range m.pods {
		if p.Spec.NodeName == node && !finished(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

func (m *model) used(node string) amount.Resources {
	var sum amount.Resources
	for _, p := range m.boundTo(node) {
		sum.Add(amount.Used(p))
	}
	return sum
}

func (m *model) held(node string) amount.Resources {
	var sum amount.Resources
	for _, h := range m.holds {
		if h.node == node {
			sum.Add(NewAsk(h.pod).Requests)
		}
	}
	return sum
}

func (m *model) owners(node string) map[types.UID]int {
	count := map[types.UID]int{}
	add := func(p *corev1.Pod) {
		if uid, _ := ownerOf(p); uid != "" {
			count[uid]++
		}
	}
	for _, p := range m.boundTo(node) {
		add(p)
	}
	for _, h := range m.holds {
		if h.node == node {
			add(h.pod)
		}
	}
	return count
}

func (m *model) guests(node string) (count int) {
	for _, p := range m.boundTo(node) {
		_, kind := ownerOf(p)
		if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; kind != "DaemonSet" && !mirror {
			count++
		}
	}
	return count
}

// claimOf tries each key over all claims: provider ID, system UUID, name.
func (m *model) claimOf(n *corev1.Node) *v1alpha1.NodeClaim {
	uuid := strings.ToLower(n.Status.NodeInfo.SystemUUID)
	other := func(a, b string) bool { return a != "" && b != "" && a != b }
	for _, fits := range []func(c *v1alpha1.NodeClaim) bool{
		func(c *v1alpha1.NodeClaim) bool {
			return n.Spec.ProviderID != "" && c.Status.ProviderID == n.Spec.ProviderID
		},
		func(c *v1alpha1.NodeClaim) bool {
			return uuid != "" && strings.ToLower(c.Status.SystemUUID) == uuid && !other(c.Status.ProviderID, n.Spec.ProviderID)
		},
		func(c *v1alpha1.NodeClaim) bool {
			name := c.Status.NodeName
			if name == "" {
				name = c.Name
			}
			return name == n.Name && !other(c.Status.ProviderID, n.Spec.ProviderID) &&
				!other(strings.ToLower(c.Status.SystemUUID), uuid)
		},
	} {
		var found []*v1alpha1.NodeClaim
		for _, c := range m.claims {
			if fits(c) {
				found = append(found, c)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0]
		default:
			return nil
		}
	}
	return nil
}

func (m *model) stage(n *corev1.Node) Stage {
	c := m.claimOf(n)
	has := func(key string) bool {
		return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
	}
	switch {
	case m.closed[n.Name] || has(v1alpha1.ReleasingTaint) || c != nil && Closed(c):
		return Releasing
	case has(v1alpha1.StartingTaint) || c != nil && InFlight(c):
		return Starting
	}
	return Open
}

// keeper is the claim that keeps room for a pod: the newest open one that lists it and has not expired.
func (m *model) keeper(uid types.UID) *v1alpha1.NodeClaim {
	var best *v1alpha1.NodeClaim
	for _, name := range slices.Sorted(maps.Keys(m.claims)) {
		c := m.claims[name]
		lists := slices.ContainsFunc(c.Spec.Reserved, func(r v1alpha1.PodReference) bool { return r.UID == uid })
		if !lists || Closed(c) || m.expired[c.UID] {
			continue
		}
		if best == nil || c.CreationTimestamp.After(best.CreationTimestamp.Time) {
			best = c
		}
	}
	return best
}

func (m *model) keeps(c *v1alpha1.NodeClaim, uid types.UID) bool {
	p := m.pods[uid]
	_, held := m.holds[uid]
	return p != nil && pending(p) && !held && m.keeper(uid) == c
}

func (m *model) reserved(n *corev1.Node) amount.Resources {
	var sum amount.Resources
	for _, p := range m.kept(n) {
		sum.Add(NewAsk(p).Requests)
	}
	return sum
}

// reservedByClaim leaves out pods that are only expected: a plan counts for itself where it sends them.
func (m *model) reservedByClaim(n *corev1.Node) amount.Resources {
	var sum amount.Resources
	for _, p := range m.kept(n) {
		c := m.claimOf(n)
		if c != nil && m.keeps(c, p.UID) && slices.ContainsFunc(c.Spec.Reserved, func(r v1alpha1.PodReference) bool { return r.UID == p.UID }) {
			sum.Add(NewAsk(p).Requests)
		}
	}
	return sum
}

// kept are the pods that room is kept for on a node, because its claim lists them or a plan sends them there: on an open
// one only as far as there is room, the highest priority first, then those that the claim lists, first.
func (m *model) kept(n *corev1.Node) []*corev1.Pod {
	var pods []*corev1.Pod
	if c := m.claimOf(n); c != nil {
		for _, ref := range c.Spec.Reserved {
			if p := m.pods[ref.UID]; m.keeps(c, ref.UID) && !slices.Contains(pods, p) {
				pods = append(pods, p)
			}
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(m.expected)) {
		p := m.pods[uid]
		_, held := m.holds[uid]
		if m.expected[uid] == n.Name && p != nil && pending(p) && !held && !slices.Contains(pods, p) {
			pods = append(pods, p)
		}
	}
	if m.stage(n) != Open {
		return pods
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return int(PodOf(b).Priority) - int(PodOf(a).Priority) })
	offered := amount.Of(n.Status.Allocatable)
	left := offered.Minus(m.used(n.Name)).Minus(m.held(n.Name)).Minus(m.daemonRoom(n))
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		ask := NewAsk(p)
		if !Room(ask, offered, left, m.classes).Fits {
			return true
		}
		left.Sub(ask.Requests)
		return false
	})
}

// ousted says whether a pod's claim has an open node and no room for the pod there.
func (m *model) ousted(uid types.UID) bool {
	for _, n := range m.nodes {
		if m.claimOf(n) == m.keeper(uid) && m.stage(n) == Open && !slices.Contains(m.kept(n), m.pods[uid]) {
			return true
		}
	}
	return false
}

// mayTakeOver says whether a pod fits in room that is kept for pods of lower priority.
func (m *model) mayTakeOver(p *corev1.Pod, name string) bool {
	if c := m.keeper(p.UID); m.expected[p.UID] != "" || c != nil && InFlight(c) {
		return false // its own room is kept
	}
	for _, n := range m.nodes {
		if slices.ContainsFunc(m.kept(n), func(own *corev1.Pod) bool { return own.UID == p.UID }) {
			return false
		}
	}
	n := m.nodes[name]
	if n == nil || m.stage(n) != Open {
		return false
	}
	more := amount.Resources{}
	for _, other := range m.kept(n) {
		if PodOf(other).Priority < PodOf(p).Priority {
			more.Add(NewAsk(other).Requests)
		}
	}
	return !more.IsZero() && m.judgeWith(p, name, more).Fits
}

func (m *model) daemonRoom(n *corev1.Node) amount.Resources {
	var sum amount.Resources
	owners := m.owners(n.Name)
	for uid, ds := range m.daemons {
		if owners[uid] == 0 && m.daemonComes(ds, n) {
			sum.Add(NewDaemon(ds).Ask.Requests)
		}
	}
	return sum
}

// daemonComes judges the taints that stay once the node has started.
func (m *model) daemonComes(ds *appsv1.DaemonSet, n *corev1.Node) bool {
	later := n.DeepCopy()
	c := m.claimOf(n)
	later.Spec.Taints = slices.DeleteFunc(later.Spec.Taints, func(t corev1.Taint) bool {
		return strings.HasPrefix(t.Key, "node.kubernetes.io/") || strings.HasPrefix(t.Key, "muster.sh/") ||
			c != nil && InFlight(c) && slices.ContainsFunc(c.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
	})
	later.Spec.Unschedulable = false
	return Admits(NewDaemon(ds).Ask, &Node{Object: later}).Fits
}

// judge is a fresh judgement of a pod on a node.
func (m *model) judge(p *corev1.Pod, name string) Verdict {
	return m.judgeWith(p, name, amount.Resources{})
}

// judgeWith counts more room as free.
func (m *model) judgeWith(p *corev1.Pod, name string, more amount.Resources) Verdict {
	n, ask := m.nodes[name], NewAsk(p)
	owner, kind := ownerOf(p)
	if n == nil {
		return Refusal(CodeUnknownNode, "")
	}
	if kind != "DaemonSet" {
		switch m.stage(n) {
		case Starting:
			return Refusal(CodeStarting, "")
		case Releasing:
			return Refusal(CodeReleasing, "")
		}
	}
	free := amount.Of(n.Status.Allocatable).Minus(m.used(name)).Minus(m.held(name))
	free.Sub(m.daemonRoom(n))
	free.Sub(m.reserved(n))
	if known := m.pods[p.UID]; known != nil && slices.Contains(m.kept(n), known) {
		free.Add(NewAsk(known).Requests)
	}
	free.Add(more)
	if ds := m.daemons[owner]; ds != nil && kind == "DaemonSet" && m.owners(name)[owner] == 0 && m.daemonComes(ds, n) {
		free.Add(NewDaemon(ds).Ask.Requests)
	}
	return Fit(ask, &Node{Object: n, Allocatable: amount.Of(n.Status.Allocatable)}, free, m.classes)
}

// The events.

func (m *model) setPod(p *corev1.Pod) {
	old := m.pods[p.UID]
	if old != nil && len(p.ResourceVersion) == len(old.ResourceVersion) && p.ResourceVersion < old.ResourceVersion {
		return
	}
	m.pods[p.UID] = p
	delete(m.gone, p.UID)
	h, held := m.holds[p.UID]
	was := ""
	if old != nil {
		was = old.Status.NominatedNodeName
	}
	now := p.Status.NominatedNodeName
	switch {
	case p.Spec.NodeName != "" || finished(p):
		delete(m.holds, p.UID)
	case held && h.nominated && h.node != now:
		delete(m.holds, p.UID)
		if now != "" {
			m.holds[p.UID] = modelHold{p, now, true}
		}
	case !held && now != "" && now != was:
		m.holds[p.UID] = modelHold{p, now, true}
	}
	_, held = m.holds[p.UID]
	signature := NewAsk(p).Signature
	changed := m.short[p.UID] != signature
	if held || !pending(p) || p.Spec.SchedulerName == "other" || changed {
		delete(m.short, p.UID)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && !held && pending(p) &&
			p.Spec.SchedulerName != "other" {
			m.short[p.UID] = signature
		}
	}
}

func (m *model) expect(rooms map[types.UID]string) {
	m.expected = maps.Clone(rooms)
	maps.DeleteFunc(m.expected, func(uid types.UID, _ string) bool {
		return m.pods[uid] == nil || m.pods[uid].Spec.SchedulerName != "muster"
	})
}

func (m *model) forgetPod(uid types.UID) {
	delete(m.pods, uid)
	delete(m.holds, uid)
	delete(m.short, uid)
	m.gone[uid] = true
}

func (m *model) forgetNode(name string) {
	delete(m.nodes, name)
	delete(m.closed, name)
}

func (m *model) expire(now time.Time) {
	for _, c := range m.claims {
		if c.Status.ReadyAt != nil && len(c.Spec.Reserved) > 0 && !c.Status.ReadyAt.Add(ReservationTTL).After(now) {
			m.expired[c.UID] = true
		}
	}
}

func (m *model) mayClose(name string) bool {
	n := m.nodes[name]
	if n == nil || m.guests(name) > 0 || !m.reserved(n).IsZero() {
		return false
	}
	for _, h := range m.holds {
		if h.node == name {
			return false
		}
	}
	return true
}
