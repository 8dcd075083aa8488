package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// Claims takes NodeClaims through their life. One claim is reconciled by one goroutine at a time; the caller sees to it.
type Claims struct {
	Live     *capacity.Live
	Kube     Kube
	Nodes    NodeFinder
	Backends Backends
	Log      *slog.Logger
	// Gate permits what cannot be taken back.
	Gate *Gate
	// Cluster is part of the mark on every machine that is made: the UID of the namespace kube-system.
	Cluster types.UID
	// Now is read before and after calls to a provider, which may take long.
	Now func() time.Time
	// Settled is nil when the place filter answers; a nil function means always.
	Settled func() error
	// Definitions says whether the claims' definition is being deleted; a nil one means that it never is.
	Definitions Definitions
	// Leading is asked before each effect; nil means always. A process that was stopped and goes on finds out here.
	Leading func() bool

	mu       sync.Mutex
	progress map[types.UID]*progress
	term     time.Time // when this process began to lead
	index    *identity.Index
	indexed  uint64
}

// progress is what this process remembers of a claim between two steps. Losing it costs a look, never a machine.
type progress struct {
	machine lifecycle.Sighting
	asked   time.Time
	refused map[types.UID]string // by pod, why it was not evicted
	proven  map[string]bool      // acts of this attempt of which people were told the proof
}

// Reconcile steps one claim until nothing is left to do now, and says when to look again (0: on events only).
func (r *Claims) Reconcile(ctx context.Context, name string) (time.Duration, error) {
	claim := r.Live.Claim(name)
	if claim == nil {
		return 0, nil
	}
	p := r.remember(claim.UID)
	var heard heard
	for range maxSteps {
		o := r.observe(claim, p, heard)
		o.Held = r.held(ctx, claim)
		contradicted := r.hearPeople(ctx, claim, &o)
		res := lifecycle.Step(claim, o, r.Now())
		if res.Err != nil {
			return 0, res.Err
		}
		committed, err := r.commit(ctx, claim, res.Claim)
		if err != nil {
			return 0, err
		}
		claim = committed
		heard, err = r.perform(ctx, claim, p, res.Effects)
		if err != nil {
			return 0, err
		}
		if contradicted {
			return minWait, r.dropWord(ctx, claim)
		}
		if !heard.anything() {
			return res.Next, nil
		}
	}
	return minWait, nil
}

// hearPeople takes in a person's word about a machine that is being released. It returns true when a reading contradicts it.
func (r *Claims) hearPeople(ctx context.Context, claim *v1alpha1.NodeClaim, o *lifecycle.Observed) bool {
	if claim.Status.State != v1alpha1.ClaimReleasing || claim.Annotations[v1alpha1.ConfirmGoneAnnotation] == "" {
		return false
	}
	m := lifecycle.Recorded(claim)
	m.Cluster = r.Cluster
	by, err := r.Gate.Confirmed(ctx, claim, m)
	if o.Confirmed = by; err != nil {
		o.Untaken = err.Error()
	}
	return errors.Is(err, gate.ErrContradicted)
}

// dropWord takes a person's word off the claim after its refusal was told: a node that falls silent later, or a provider that does,
// must not make it count.
func (r *Claims) dropWord(ctx context.Context, claim *v1alpha1.NodeClaim) error {
	c := claim.DeepCopy()
	delete(c.Annotations, v1alpha1.ConfirmGoneAnnotation)
	updated, err := r.Kube.UpdateClaim(ctx, c)
	if err != nil {
		return ignoreStale(err)
	}
	r.Live.SetClaim(updated)
	return nil
}

// maxSteps bounds one reconcile: a machine's whole life has fewer provider calls in a row.
const maxSteps = 16

// heard is what performing the effects of a step brought back.
type heard struct {
	outcome *lifecycle.Outcome
	pods    []corev1.Pod
	looked  bool
	refused *gate.Refusal // by the gate
	proven  bool          // to it
}

func (h heard) anything() bool { return h.outcome != nil || h.looked || h.refused != nil }

// Lead notes that this process leads from now on. Times in claims that are older than that are of another process's clock.
func (r *Claims) Lead(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.term = now
}

func (r *Claims) leads() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.term
}

// Forget drops what is remembered of a claim that is gone.
func (r *Claims) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.progress, uid)
}

func (r *Claims) remember(uid types.UID) *progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.progress == nil {
		r.progress = map[types.UID]*progress{}
	}
	p := r.progress[uid]
	if p == nil {
		p = &progress{}
		r.progress[uid] = p
	}
	return p
}

func (r *Claims) observe(claim *v1alpha1.NodeClaim, p *progress, h heard) lifecycle.Observed {
	o := lifecycle.Observed{Machine: p.machine, Outcome: h.outcome, Asked: p.asked, PodsFresh: h.looked, Term: r.leads(),
		Refused: h.refused, Proven: h.proven}
	found := r.nodes(claim)
	o.Node, o.NodeBy = r.node(claim, found)
	for _, f := range found {
		switch {
		case len(f.Others) > 0:
			o.Ambiguous = fmt.Sprintf("Node %s could also be the machine of %s (%s)", f.Node.Name, strings.Join(f.Others, ", "), f.Why)
		case o.Node != nil && f.Node.Name != o.Node.Name && f.How > identity.ByName:
			o.Others = append(o.Others, f.Node)
		}
	}
	o.Unheard = claim.Status.State == v1alpha1.ClaimDraining && (r.Settled != nil && r.Settled() != nil || r.Live.Unheard(r.Now()))
	var pods []*capacity.Pod
	for _, name := range nodeNames(claim, found) {
		pods = append(pods, r.Live.Occupants(name)...)
	}
	if h.looked {
		pods = unite(pods, h.pods)
	}
	for _, pod := range pods {
		o.Pods = append(o.Pods, r.occupant(claim, pod, p.refused[pod.UID]))
	}
	if claim.Status.State == v1alpha1.ClaimDraining && o.Node != nil {
		o.Attached = r.Live.Attached(o.Node.Name)
	}
	return o
}

// nodeNames are the names that pods of a claim's machine may be bound to: those of all Nodes that could be it, and the one on record,
// whose Node may have been deleted by hand under its pods.
func nodeNames(claim *v1alpha1.NodeClaim, found []identity.Candidate) []string {
	var names []string
	for _, f := range found {
		names = append(names, f.Node.Name)
	}
	if n := claim.Status.NodeName; n != "" && !slices.Contains(names, n) {
		names = append(names, n)
	}
	return names
}

// occupant is a pod as a drain sees it. Whoever deletes a claim evicts all.
func (r *Claims) occupant(claim *v1alpha1.NodeClaim, pod *capacity.Pod, refused string) lifecycle.PodOnNode {
	o := lifecycle.PodOnNode{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Terminating: pod.Terminating, Priority: pod.Priority, Refused: refused,
	}
	if release := claim.Spec.Release; release != nil && release.Drain != nil {
		o.Stay = string(r.Live.Stays(pod, release.Drain.EvictLocalStorage))
	}
	return o
}

// unite adds the pods read from the API server to those in the view: what either of them knows keeps a node.
func unite(known []*capacity.Pod, read []corev1.Pod) []*capacity.Pod {
	for i := range read {
		pod := capacity.PodOf(&read[i])
		if pod.Resident() || pod.Finished {
			continue
		}
		if !slices.ContainsFunc(known, func(k *capacity.Pod) bool { return k.UID == pod.UID }) {
			known = append(known, pod)
		}
	}
	return known
}

// nodes finds all Nodes that could be a claim's machine.
func (r *Claims) nodes(claim *v1alpha1.NodeClaim) []identity.Candidate {
	st := &claim.Status
	claims, _ := r.Live.Claims()
	return identity.Candidates(claim, claims, r.Nodes.Candidates(identity.NodeName(claim), st.ProviderID, st.SystemUUID))
}

// node finds the Node that matches a claim, and this claim only. Of several that are equally like it, one that is Ready is it, then
// the one that is on record, then the newest: a renamed host registers anew and leaves its old Node behind.
func (r *Claims) node(claim *v1alpha1.NodeClaim, found []identity.Candidate) (*corev1.Node, identity.How) {
	index := r.claimIndex()
	var best *corev1.Node
	how := identity.NoMatch
	for _, f := range found {
		c, by := index.Match(f.Node)
		if c != nil && c.UID == claim.UID && (by > how || by == how && speaksFor(claim, f.Node, best)) {
			best, how = f.Node, by
		}
	}
	return best, how
}

func speaksFor(claim *v1alpha1.NodeClaim, n, than *corev1.Node) bool {
	if a, b := lifecycle.NodeReady(n), lifecycle.NodeReady(than); a != b {
		return a
	}
	if a, b := n.UID == claim.Status.NodeUID, than.UID == claim.Status.NodeUID; a != b {
		return a
	}
	return than.CreationTimestamp.Before(&n.CreationTimestamp)
}

func (r *Claims) claimIndex() *identity.Index {
	r.mu.Lock()
	defer r.mu.Unlock()
	claims, version := r.Live.Claims()
	if r.index == nil || version != r.indexed {
		r.index, r.indexed = identity.NewIndex(claims), version
	}
	return r.index
}

// commit writes the claim before anything is done about it. What was written is known at once.
func (r *Claims) commit(ctx context.Context, from, to *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	current := from
	if !slices.Equal(from.Finalizers, to.Finalizers) {
		meta := from.DeepCopy()
		meta.Finalizers = to.Finalizers
		updated, err := r.Kube.UpdateClaim(ctx, meta)
		if err != nil {
			return nil, fmt.Errorf("write claim %s: %w", from.Name, err)
		}
		current = updated
		r.Live.SetClaim(updated)
	}
	if reflect.DeepEqual(from.Status, to.Status) {
		return current, nil
	}
	next := current.DeepCopy()
	next.Status = to.Status
	updated, err := r.Kube.UpdateClaimStatus(ctx, next)
	if err != nil {
		return nil, fmt.Errorf("write status of claim %s: %w", from.Name, err)
	}
	r.Live.SetClaim(updated)
	if from.Status.State != updated.Status.State {
		r.Log.Info("claim moved", "claim", updated.Name, "from", from.Status.State, "to", updated.Status.State,
			"message", updated.Status.Message)
	}
	return updated, nil
}

// Conflict says whether an error only means that something newer is to be read first.
func Conflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

func (r *Claims) call(ctx context.Context, claim *v1alpha1.NodeClaim, verb lifecycle.Verb, p *progress,
	do func(provider.Provider) (provider.Machine, error),
) *lifecycle.Outcome {
	out := &lifecycle.Outcome{Verb: verb, Began: r.Now()}
	backend, err := r.Backends.Backend(claim.Spec.Provider)
	if err == nil {
		out.Machine, err = do(backend)
	}
	out.Err = err
	p.asked = r.Now()
	p.machine = p.machine.After(*out)
	var refusal *gate.Refusal
	if out.Failed() && ctx.Err() == nil && !errors.As(err, &refusal) {
		r.Log.Warn("provider call failed", "claim", claim.Name, "verb", verb, "provider", claim.Spec.Provider, "error", err)
	}
	return out
}
