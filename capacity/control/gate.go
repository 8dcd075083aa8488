package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/capacity/preemption"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// Gate reads what gate.Judge decides on. Every read goes past every cache and begins after the call: the caller has written its
// intent before.
type Gate struct {
	Live     *capacity.Live
	Kube     Kube
	Backends Backends
	Log      *slog.Logger
	// Cluster is ours, as the marks on machines have it.
	Cluster types.UID
	Now     func() time.Time
	// Observe is told of every judgement; nil is allowed.
	Observe func(Judgement)

	claims shared[[]*v1alpha1.NodeClaim]
	nodes  shared[[]*corev1.Node]
	freeze shared[gate.Freeze]
}

// Judgement is what became of one question to the gate: Refusal is nil where it permitted the act.
type Judgement struct {
	Act     gate.Act
	Subject gate.Subject
	Proof   gate.Proof
	Refusal *gate.Refusal
}

// Answer is Permitted, or the reason of the refusal.
func (j Judgement) Answer() string {
	if j.Refusal != nil {
		return j.Refusal.Reason
	}
	return "Permitted"
}

// Clauses are those that the proof rests on, or that the refusal misses.
func (j Judgement) Clauses() []string {
	items := j.Proof.Items()
	if j.Refusal != nil {
		items = j.Refusal.Missing
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Clause
	}
	return names
}

// leavesWithin is how long after the end of its grace period a pod of a Node that is not ready is waited for: its kubelet does not
// end it any more. It is what the taint manager and the pod garbage collector of Kubernetes leave a node to come back.
const leavesWithin = time.Minute

// evidence begins the evidence of an act: the time is taken before the first read.
func (g *Gate) evidence(ctx context.Context, act gate.Act, pool string, s gate.Subject) gate.Evidence {
	return gate.Evidence{Act: act, Subject: s, Began: g.Now(), Cluster: g.Cluster, Frozen: g.frozen(ctx, pool)}
}

// frozen says why releases are frozen for a pool; one that is not known may be any that is frozen. An API server that does not answer
// counts as a freeze.
func (g *Gate) frozen(ctx context.Context, pool string) gate.Reading[string] {
	f, err := g.freeze.read(ctx, g.Kube.Freeze)
	if err != nil {
		return gate.Unread[string](err)
	}
	_, why := f.Releases(pool)
	return gate.Read(why)
}

// judge decides and tells.
func (g *Gate) judge(e gate.Evidence) (gate.Proof, error) {
	p, err := gate.Judge(e, g.Now())
	var refusal *gate.Refusal
	if errors.As(err, &refusal) {
		g.Log.Warn("the gate refuses", "act", e.Act, "subject", e.Subject, "reason", refusal.Reason, "error", err)
	} else {
		g.Log.Info("the gate permits", "act", e.Act, "subject", e.Subject, "proof", p)
	}
	if g.Observe != nil {
		g.Observe(Judgement{Act: e.Act, Subject: e.Subject, Proof: p, Refusal: refusal})
	}
	return p, err
}

// Machine proves that the machine of a claim may be deleted or stopped. Where the provider says that there is none, the proof is good
// for asking it to take away what is left of one; whether the claim's number is another machine's now, its answer to that says.
func (g *Gate) Machine(ctx context.Context, act gate.Act, claim *v1alpha1.NodeClaim, m provider.Machine) (gate.Proof, error) {
	e := g.evidence(ctx, act, claim.Spec.Pool, m.Subject())
	e.Restart = act == gate.Stop
	claims, current := g.intent(ctx, &e, claim, act, m.Attempt)
	backend, err := g.Backends.Backend(claim.Spec.Provider)
	var found provider.Machine
	if err == nil {
		found, err = backend.Get(ctx, m)
	}
	switch {
	case errors.Is(err, provider.ErrNotFound):
		e.Machine = gate.Read(gate.Machine{Absent: true})
	case err != nil:
		return gate.Proof{}, err
	default:
		e.Machine = gate.Read(reading(found, recorded(current, found)))
		if found.Twins != "" {
			e.Twins = gate.Read(marked(twins(claim, claims), found))
		}
	}
	g.standing(ctx, &e, current, claims)
	return g.judge(e)
}

// recorded is the identity that the claim has on record for this attempt. Of a machine that was not seen before, this reading
// is the first.
func recorded(c *v1alpha1.NodeClaim, m provider.Machine) gate.Identity {
	if c == nil || c.Status.Identity == nil || m.Attempt != c.Status.Attempts {
		return m.Identity
	}
	return *c.Status.Identity
}

func reading(m provider.Machine, recorded gate.Identity) gate.Machine {
	return gate.Machine{NeverStarted: m.NeverStarted, Cluster: m.Cluster, ClaimUID: m.ClaimUID, Attempt: m.Attempt, Recorded: recorded, Now: m.Identity}
}

// intent reads all claims and says whether this one asks for the act. It returns the claim as the API server has it, nil where that
// is not known.
func (g *Gate) intent(ctx context.Context, e *gate.Evidence, claim *v1alpha1.NodeClaim, act gate.Act, attempt int32) (claims []*v1alpha1.NodeClaim, current *v1alpha1.NodeClaim) {
	claims, err := g.claims.read(ctx, g.Kube.Claims)
	if err != nil {
		e.Intent = gate.Unread[gate.Intent](err)
		e.Twins = gate.Unread[[]string](err)
		return nil, nil
	}
	i := slices.IndexFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.Name == claim.Name && c.UID == claim.UID })
	if i < 0 {
		e.Intent = gate.Read(gate.Intent{Missing: true})
		e.Twins = gate.Read([]string(nil))
		return claims, nil
	}
	asks, not := lifecycle.Asks(claims[i], act, attempt)
	e.Intent = gate.Read(gate.Intent{Asks: asks, Not: not})
	e.Twins = gate.Read(twins(claims[i], claims))
	return claims, claims[i]
}

// twins are the claims whose machines cannot be told apart from that of a claim.
func twins(c *v1alpha1.NodeClaim, claims []*v1alpha1.NodeClaim) []string {
	var found []string
	for _, o := range claims {
		if o.UID == c.UID || c.Status.Identity == nil || o.Status.Identity == nil {
			continue
		}
		if why := identity.Twins(*c.Status.Identity, *o.Status.Identity); why != "" {
			found = append(found, fmt.Sprintf("the machine of claim %s (%s)", o.Name, why))
		}
	}
	return found
}

// marked adds the machines that carry the same mark, as their backend tells.
func marked(twins []string, m provider.Machine) []string {
	if m.Twins == "" {
		return twins
	}
	return append(twins, m.Twins+", which carries the same mark")
}

// standing reads the Nodes that could be a claim's machine, and the pods that are bound to them or to the name of one that is gone.
func (g *Gate) standing(ctx context.Context, e *gate.Evidence, c *v1alpha1.NodeClaim, claims []*v1alpha1.NodeClaim) {
	found, nodes := g.candidates(ctx, e, c, claims)
	if nodes == nil {
		return
	}
	var names []string
	if n := identity.NodeName(c); !known(nodes, n) {
		names = append(names, n)
	}
	g.bound(ctx, e, found, names)
}

// candidates reads the Nodes that could be a claim's machine, and returns all Nodes beside them; nil where they are not known.
func (g *Gate) candidates(ctx context.Context, e *gate.Evidence, c *v1alpha1.NodeClaim, claims []*v1alpha1.NodeClaim) ([]identity.Candidate, []*corev1.Node) {
	if c == nil {
		return nil, nil
	}
	nodes, err := g.nodes.read(ctx, g.Kube.Nodes)
	if err != nil {
		e.Nodes = gate.Unread[[]gate.Node](err)
		return nil, nil
	}
	found := identity.Candidates(c, claims, nodes)
	e.Nodes = gate.Read(nodeEvidence(found))
	return found, append([]*corev1.Node{}, nodes...)
}

func nodeEvidence(found []identity.Candidate) []gate.Node {
	var list []gate.Node
	for _, f := range found {
		list = append(list, gate.Node{Name: f.Node.Name, UID: f.Node.UID, Why: f.Why, Others: f.Others,
			Ready: lifecycle.NodeReady(f.Node), Closed: housekeeping.Fenced(f.Node)})
	}
	return list
}

func known(nodes []*corev1.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Name == name })
}

// bound reads what is bound to Nodes, and to the names of missing ones.
func (g *Gate) bound(ctx context.Context, e *gate.Evidence, found []identity.Candidate, missing []string) {
	var pods []gate.Pod
	for _, f := range found {
		on, err := g.podsOn(ctx, f.Node.Name, lifecycle.NodeReady(f.Node))
		if err != nil {
			e.On = gate.Unread[[]gate.Pod](err)
			return
		}
		pods = append(pods, on...)
	}
	for _, name := range missing {
		on, err := g.podsOn(ctx, name, false)
		if err != nil {
			e.On = gate.Unread[[]gate.Pod](err)
			return
		}
		pods = append(pods, on...)
	}
	e.On = gate.Read(pods)
}

// podsOn are the pods that keep a node: bound to its name at the API server, or promised to it by this process. Those that live and
// die with their node do not, nor those whose kubelet does not end them any more.
func (g *Gate) podsOn(ctx context.Context, name string, ready bool) ([]gate.Pod, error) {
	read, err := g.Kube.PodsOn(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("the pods of node %s: %w", name, err)
	}
	var pods []gate.Pod
	for _, p := range unite(g.Live.Occupants(name), read) {
		i := slices.IndexFunc(read, func(r corev1.Pod) bool { return r.UID == p.UID })
		if i >= 0 && !ready && read[i].DeletionTimestamp != nil && g.over(p.UID) {
			continue
		}
		if i >= 0 && ofTheAct(&read[i]) {
			continue
		}
		if i < 0 && p.Node != "" {
			continue // bound in the cache, and not at the API server any more
		}
		pod := gate.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: name}
		if i >= 0 && read[i].DeletionTimestamp == nil && capacity.PodOf(&read[i]).Protected() {
			pod.Protected = string(capacity.StayProtected)
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// over says that the grace period of a pod in deletion ended long enough ago, counted by this process from when it first saw that: the
// time in the object is another computer's.
func (g *Gate) over(pod types.UID) bool {
	p := g.Live.Pod(pod)
	return p != nil && p.Terminating && !p.Ends.IsZero() && g.Now().Sub(p.Ends) >= leavesWithin
}

// Node proves that the Node of a claim whose machine is gone may be deleted.
func (g *Gate) Node(ctx context.Context, claim *v1alpha1.NodeClaim, m provider.Machine, node string) (gate.Proof, error) {
	s := m.Subject()
	s.Node = node
	e := g.evidence(ctx, gate.DeleteNode, claim.Spec.Pool, s)
	claims, current := g.intent(ctx, &e, claim, gate.DeleteNode, m.Attempt)
	e.Machine = g.absence(ctx, claim.Spec.Provider, m)
	if current != nil {
		if by, err := g.Confirmed(ctx, current, m); err == nil && by != "" {
			e.Machine = gate.Read(gate.Machine{Absent: true, ByWordOf: by})
		}
	}
	g.standing(ctx, &e, current, claims)
	return g.judge(e)
}

// absence asks a provider whether it has a machine.
func (g *Gate) absence(ctx context.Context, name string, m provider.Machine) gate.Reading[gate.Machine] {
	backend, err := g.Backends.Backend(name)
	if err != nil {
		return gate.Unread[gate.Machine](err)
	}
	switch found, err := backend.Get(ctx, m); {
	case errors.Is(err, provider.ErrNotFound):
		return gate.Read(gate.Machine{Absent: true})
	case err != nil:
		return gate.Unread[gate.Machine](err)
	default:
		return gate.Read(reading(found, found.Identity))
	}
}

// Pods proves that pods may be evicted from the Nodes of a claim that drains, or deleted there. The proof covers those of them that the
// API server has on one of these Nodes.
func (g *Gate) Pods(ctx context.Context, act gate.Act, claim *v1alpha1.NodeClaim, pods []lifecycle.PodOnNode) (gate.Proof, error) {
	e := g.evidence(ctx, act, claim.Spec.Pool, gate.Subject{Node: claim.Status.NodeName, ClaimUID: claim.UID, Attempt: claim.Status.Attempts})
	claims, current := g.intent(ctx, &e, claim, act, claim.Status.Attempts)
	found, _ := g.candidates(ctx, &e, current, claims)
	batch := make([]types.UID, len(pods))
	for i, p := range pods {
		batch[i] = p.UID
	}
	var on []gate.Pod
	for _, name := range nodeNames(claim, found) {
		read, err := g.Kube.PodsOn(ctx, name)
		if err != nil {
			e.On = gate.Unread[[]gate.Pod](err)
			return g.judge(e)
		}
		on = append(on, g.touched(current, read, batch)...)
	}
	e.On = gate.Read(on)
	for _, p := range on {
		e.Pods = append(e.Pods, p.UID)
	}
	return g.judge(e)
}

// touched are the pods of a batch as the API server has them, each with why it is not to be moved. A person who deletes the claim
// has all of them evicted.
func (g *Gate) touched(c *v1alpha1.NodeClaim, read []corev1.Pod, batch []types.UID) []gate.Pod {
	var pods []gate.Pod
	for i := range read {
		p := capacity.PodOf(&read[i])
		if !slices.Contains(batch, p.UID) {
			continue
		}
		protected := ""
		if c != nil && c.DeletionTimestamp == nil && c.Spec.Release != nil && c.Spec.Release.Drain != nil && !p.Terminating {
			protected = string(g.Live.Stays(p, c.Spec.Release.Drain.EvictLocalStorage))
		}
		pods = append(pods, gate.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.Node, Protected: protected})
	}
	return pods
}

// Confirmed returns the person whose word it is that the machine of a claim is gone, where that word may stand for the readings; an
// empty one where no word was given.
func (g *Gate) Confirmed(ctx context.Context, claim *v1alpha1.NodeClaim, m provider.Machine) (string, error) {
	value := claim.Annotations[v1alpha1.ConfirmGoneAnnotation]
	if value == "" {
		return "", nil
	}
	claims, err := g.claims.read(ctx, g.Kube.Claims)
	if err != nil {
		return "", fmt.Errorf("read the claims: %w", err)
	}
	var e gate.Evidence
	g.candidates(ctx, &e, claim, claims)
	on := gate.Unread[bool](provider.ErrUnknown)
	if backend, err := g.Backends.Backend(claim.Spec.Provider); err == nil {
		switch found, err := backend.Get(ctx, m); {
		case errors.Is(err, provider.ErrNotFound):
			on = gate.Read(false)
		case err == nil:
			on = gate.Read(found.On)
		}
	}
	w, err := gate.Accept(value, m.Subject(), on, e.Nodes)
	if err != nil {
		g.Log.Warn("a person's word is not taken", "claim", claim.Name, "error", err)
		return "", err
	}
	g.Log.Warn("a machine counts as gone by a person's word", "claim", claim.Name, "machine", w.Machine, "attempt", w.Attempt, "user", w.User)
	return w.User, nil
}

// Orphan proves that a machine without a claim may be deleted: seen is how its listings first showed it.
func (g *Gate) Orphan(ctx context.Context, backend provider.Provider, seen provider.Machine) (gate.Proof, error) {
	e := g.evidence(ctx, gate.Delete, "", seen.Subject())
	claims, err := g.claims.read(ctx, g.Kube.Claims)
	if err != nil {
		return gate.Proof{}, fmt.Errorf("read the claims: %w", err)
	}
	e.Intent = gate.Read(gate.Intent{Asks: "no NodeClaim has its UID, in two complete listings"})
	if slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.UID == seen.ClaimUID }) {
		e.Intent = gate.Read(gate.Intent{Not: "it has a NodeClaim"})
	}
	found, err := backend.Get(ctx, seen)
	if err != nil {
		return gate.Proof{}, err
	}
	e.Machine = gate.Read(reading(found, seen.Identity))
	ghost := lifecycle.ClaimOfMachine(seen)
	ghost.Status.Identity = &seen.Identity
	e.Twins = gate.Read(marked(twins(ghost, claims), found))
	g.standing(ctx, &e, ghost, claims)
	return g.judge(e)
}

// Stray proves that the Node of a machine that is gone, and whose claim is gone, may be deleted.
func (g *Gate) Stray(ctx context.Context, n *corev1.Node, gone gate.Reading[gate.Machine]) (gate.Proof, error) {
	e := g.evidence(ctx, gate.DeleteNode, n.Labels[v1alpha1.PoolLabel], gate.Subject{Node: n.Name, ClaimUID: housekeeping.ClaimOf(n)})
	e.Machine = gone
	claims, err := g.claims.read(ctx, g.Kube.Claims)
	if err != nil {
		return gate.Proof{}, fmt.Errorf("read the claims: %w", err)
	}
	nodes, err := g.nodes.read(ctx, g.Kube.Nodes)
	if err != nil {
		return gate.Proof{}, fmt.Errorf("read the Nodes: %w", err)
	}
	e.Intent, e.Twins = gate.Read(gate.Intent{Asks: "no NodeClaim has the UID that it carries"}), gate.Read([]string(nil))
	if slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.UID == housekeeping.ClaimOf(n) }) {
		e.Intent = gate.Read(gate.Intent{Not: "its NodeClaim exists"})
	}
	var found []identity.Candidate
	for _, now := range nodes {
		if now.UID != n.UID {
			continue
		}
		f := identity.Candidate{Node: now, Why: "it is the Node that was judged"}
		for _, c := range claims {
			if how, _ := identity.CouldBe(c, now); how != identity.NoMatch {
				f.Others = append(f.Others, c.Name)
			}
		}
		found = append(found, f)
	}
	e.Nodes = gate.Read(nodeEvidence(found))
	g.bound(ctx, &e, found, nil)
	return g.judge(e)
}

// Preempt proves that a pod may be evicted for another one: that one still waits, and is more important.
func (g *Gate) Preempt(ctx context.Context, m preemption.Move, victim *capacity.Pod) (gate.Proof, error) {
	e := g.evidence(ctx, gate.Preempt, m.Pool, gate.Subject{Node: m.Node})
	e.Pods = []types.UID{victim.UID}
	waits, err := g.Kube.Pod(ctx, m.Pod.Ref())
	switch {
	case apierrors.IsNotFound(err):
		e.Intent = gate.Read(gate.Intent{Missing: true})
	case err != nil:
		e.Intent = gate.Unread[gate.Intent](err)
	case waits.UID != m.Pod.UID, waits.Spec.NodeName != "":
		e.Intent = gate.Read(gate.Intent{Not: "pod " + m.Pod.Key() + " does not wait for room any more"})
	default:
		e.Intent = gate.Read(gate.Intent{Asks: "pod " + m.Pod.Key() + " waits for room on node " + m.Node})
	}
	return g.judge(e)
}

// shared has callers share one read, if it began after each of them asked: a thousand releases do not read a thousand lists.
type shared[T any] struct {
	mu    sync.Mutex
	begun uint64 // reads begun so far
	one   sync.Mutex
	last  uint64 // the read that value and err are of
	value T
	err   error
}

func (s *shared[T]) read(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	asked := s.begun
	s.mu.Unlock()
	s.one.Lock()
	defer s.one.Unlock()
	if s.last > asked && s.err == nil {
		return s.value, nil
	}
	s.mu.Lock()
	s.begun++
	s.last = s.begun
	s.mu.Unlock()
	s.value, s.err = read(ctx)
	return s.value, s.err
}
