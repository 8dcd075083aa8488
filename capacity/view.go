package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/volume"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// View is the cluster at one moment, for decisions that take longer than a filter call. Nothing in it is ever changed;
// every list is sorted, so that the same cluster gives the same decision.
type View struct {
	// Nodes are the Nodes that exist, by name, whatever their stage.
	Nodes []*Node
	// Seen is when each of Nodes was first seen.
	Seen map[string]time.Time
	// Silent is since when this process has seen each of them silent: tainted as not ready or unreachable. What the taint says
	// itself is the time of another computer.
	Silent map[string]time.Time
	// Pods are the pods that take room on each node, finished ones left out, by node name; held ones are in Held.
	Pods map[string][]*Pod
	// HeldOn counts the holds on each node.
	HeldOn map[string]int
	// Held are the pods held on each node, by node name.
	Held map[string][]*Pod
	// Expected is where the last plan sends pods that fit on an open node, by pod.
	Expected map[types.UID]string
	// Claims are all NodeClaims, by name.
	Claims []*Claim
	// Reserved are the pods that a claim keeps room for and that have neither a node nor a hold, by claim name.
	Reserved map[string][]*Pod
	// Templates of the pools, by their names.
	Templates map[string]*Template
	// Pools by falling weight, then name.
	Pools []*v1alpha1.NodePool
	// Providers by name.
	Providers map[string]*v1alpha1.Provider
	Daemons   []*Daemon
	Classes   Classes
	// Shortfalls by falling priority, then age, then namespace and name.
	Shortfalls []*Shortfall
	// Budgets are the PodDisruptionBudgets, by namespace and name.
	Budgets []*DisruptionBudget
	// Storage is what there is of volumes and claims for them.
	Storage *volume.Frozen
	// Namespaces by name: what a namespaceSelector is compared with.
	Namespaces Namespaces
	// Freeze is what people have stopped, as last read.
	Freeze gate.Freeze
	// Schedulers says whose pods are placed by Muster and whose are only watched.
	Schedulers Schedulers
	// Generation of the Live it was taken from.
	Generation uint64

	moves uint64 // see Live.moves
}

// View freezes the cluster.
func (l *Live) View() *View {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &View{
		Nodes: make([]*Node, 0, l.present), Seen: make(map[string]time.Time, l.present), Silent: map[string]time.Time{},
		Pods: make(map[string][]*Pod, l.present), HeldOn: make(map[string]int, l.present), Held: map[string][]*Pod{},
		Providers: map[string]*v1alpha1.Provider{}, Reserved: map[string][]*Pod{}, Classes: l.classes, Schedulers: l.schedulers,
		Freeze: l.freeze, Generation: l.generation, moves: l.moves,
	}
	for _, d := range l.daemons {
		v.Daemons = append(v.Daemons, d)
	}
	slices.SortFunc(v.Daemons, func(a, b *Daemon) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
	})
	for _, e := range l.nodes {
		l.viewNode(v, e)
	}
	slices.SortFunc(v.Nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	l.viewClaims(v)
	l.viewReserved(v)
	for name, p := range l.backends {
		v.Providers[name] = p
	}
	for _, p := range l.pools {
		v.Pools = append(v.Pools, p)
	}
	SortPools(v.Pools)
	v.Templates = make(map[string]*Template, len(v.Pools))
	for _, p := range v.Pools {
		v.Templates[p.Name] = l.templates[p.Name]
	}
	l.fillLedger()
	v.Expected = make(map[types.UID]string, len(l.expected))
	for _, s := range l.ledger.byPod {
		if node, expected := l.expected[s.Pod.UID]; expected {
			v.Expected[s.Pod.UID] = node
		}
		c := *s
		v.Shortfalls = append(v.Shortfalls, &c)
	}
	SortShortfalls(v.Shortfalls)
	v.Budgets = l.budgets.sorted()
	v.Storage, v.Namespaces = l.storage.Freeze(), l.viewNamespaces()
	return v
}

// viewNode shares what it shows of a node with older Views, as long as the node does not change.
func (l *Live) viewNode(v *View, e *entry) {
	if e.Object == nil {
		return
	}
	if e.frozen == nil {
		n := e.Node
		n.Allocatable, n.Used, n.Held = n.Allocatable.Clone(), n.Used.Clone(), n.Held.Clone()
		n.Daemons, n.Reserved = n.Daemons.Clone(), n.Reserved.Minus(e.awaited)
		e.frozen = &n
	}
	v.Nodes = append(v.Nodes, e.frozen)
	v.Seen[e.Name] = e.since
	if !e.silent.IsZero() {
		v.Silent[e.Name] = e.silent
	}
	v.HeldOn[e.Name] = len(e.holds)
	if len(e.holds) > 0 {
		v.Held[e.Name] = e.heldPods()
	}
	if len(e.pods) == 0 {
		return
	}
	if e.listed == nil {
		e.listed = slices.Collect(maps.Values(e.pods))
		sortPods(e.listed)
	}
	v.Pods[e.Name] = e.listed
}

// sortPods orders pods by namespace, name and UID.
func sortPods(pods []*Pod) { slices.SortFunc(pods, comparePods) }

func comparePods(a, b *Pod) int {
	if order := strings.Compare(a.Namespace, b.Namespace); order != 0 {
		return order
	}
	if order := strings.Compare(a.Name, b.Name); order != 0 {
		return order
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

func (l *Live) viewClaims(v *View) {
	byClaim := map[string]*Node{}
	for _, n := range v.Nodes {
		if n.Claim != "" {
			byClaim[n.Claim] = n
		}
	}
	for _, c := range l.claims.byName {
		claim := viewClaim(c, byClaim[c.Name], v.Daemons)
		claim.Took = slices.Clone(l.took[c.UID])
		claim.Proven = claim.Reported && l.proven(c)
		v.Claims = append(v.Claims, claim)
	}
	slices.SortFunc(v.Claims, func(a, b *Claim) int { return strings.Compare(a.Object.Name, b.Object.Name) })
}

// proven says whether the one Node of a claim was marked for it, and is its machine by provider ID or system UUID. A name proves as much
// only where neither the claim nor the Node has anything stronger.
func (l *Live) proven(c *v1alpha1.NodeClaim) bool {
	nodes := l.claimed[c.Name]
	if len(nodes) != 1 {
		return false
	}
	e, id, uuid := nodes[0], c.Status.ProviderID, identity.UUID(c.Status.SystemUUID)
	if types.UID(e.Object.Annotations[v1alpha1.RegisteredAnnotation]) != c.UID || differ(id, e.Object.Spec.ProviderID) || differ(uuid, e.uuid) {
		return false
	}
	return id != "" && id == e.Object.Spec.ProviderID || uuid != "" && uuid == e.uuid ||
		id == "" && uuid == "" && e.Object.Spec.ProviderID == "" && e.uuid == ""
}

func (l *Live) viewReserved(v *View) {
	for uid := range l.claims.byPod {
		claim := l.claims.keeper(uid)
		if p := l.pods[uid]; p != nil && claim != nil && l.waitsFor(p, claim) && !l.isOusted(uid, claim) {
			v.Reserved[claim.Name] = append(v.Reserved[claim.Name], p)
		}
	}
	for _, pods := range v.Reserved {
		sortPods(pods)
	}
}

// viewClaim takes the registered node where its kubelet has said what it offers, seen as it will be after its start;
// else the node that was promised. What registered for a machine that is given back says nothing about the next one.
func viewClaim(c *v1alpha1.NodeClaim, registered *Node, daemons []*Daemon) *Claim {
	switch {
	case registered == nil || registered.Allocatable.MilliCPU == 0 || Relaunches(c):
		return &Claim{Object: c, Node: NodeOfClaim(c, daemons)}
	case InFlight(c):
		n := initialized(registered, c)
		n.Allocatable = withPromised(registered.Allocatable, Promised(c))
		return &Claim{Object: c, Node: n, Reported: true}
	}
	if registered.Stage == Releasing && !Closed(c) && !cordonedByOthers(registered.Object) {
		return &Claim{Object: c, Node: reopened(registered), Reported: true}
	}
	return &Claim{Object: c, Node: registered, Reported: true}
}

// reopened is the node of a claim whose release was taken back, as it will be in a moment: nothing more is bought for the
// pods that it has room for, and none of them may go there yet.
func reopened(n *Node) *Node {
	n = WithoutStartup(n, nil)
	n.Stage, n.Object.Spec.Unschedulable = Starting, false
	return n
}

func cordonedByOthers(n *corev1.Node) bool {
	_, ours := n.Annotations[v1alpha1.CordonedAnnotation]
	return n.Spec.Unschedulable && !ours
}

// withPromised adds the extended resources that a starting node does not offer yet.
func withPromised(real, promised amount.Resources) amount.Resources {
	sum := real.Clone()
	for name, v := range promised.Scalar {
		if sum.Scalar[name] == 0 {
			sum.Set(name, v)
		}
	}
	return sum
}

// SortPools orders pools by falling weight, then name.
func SortPools(pools []*v1alpha1.NodePool) {
	slices.SortFunc(pools, func(a, b *v1alpha1.NodePool) int {
		return cmp.Or(cmp.Compare(b.Spec.Weight, a.Spec.Weight), strings.Compare(a.Name, b.Name))
	})
}

// SortShortfalls orders shortfalls by falling priority, then age, then namespace and name.
func SortShortfalls(s []*Shortfall) {
	slices.SortFunc(s, func(a, b *Shortfall) int {
		if order := cmp.Compare(b.Pod.Priority, a.Pod.Priority); order != 0 {
			return order
		}
		if order := a.Pod.Created.Compare(b.Pod.Created); order != 0 {
			return order
		}
		return comparePods(a.Pod, b.Pod)
	})
}

func (e *entry) heldPods() []*Pod {
	pods := make([]*Pod, 0, len(e.holds))
	for _, h := range e.holds {
		pods = append(pods, h.pod)
	}
	sortPods(pods)
	return pods
}

// MovedSince says whether other pods came to stand somewhere, or left, after the last full call about a pod.
func (v *View) MovedSince(s *Shortfall) bool { return s.moves != v.moves }
