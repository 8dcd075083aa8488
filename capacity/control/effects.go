package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// perform does what a step asked for, in its order, and stops at the first write that failed.
func (r *Claims) perform(ctx context.Context, claim *v1alpha1.NodeClaim, p *progress, effects []lifecycle.Effect) (heard, error) {
	var h heard
	for _, e := range effects {
		if err := ctx.Err(); err != nil {
			return h, err
		}
		if r.Leading != nil && !r.Leading() {
			return h, fmt.Errorf("claim %s: %s: %w", claim.Name, e, errNotLeading)
		}
		if err := r.performOne(ctx, claim, p, e, &h); err != nil {
			return h, fmt.Errorf("claim %s: %s: %w", claim.Name, e, err)
		}
	}
	return h, nil
}

func (r *Claims) performOne(ctx context.Context, claim *v1alpha1.NodeClaim, p *progress, e lifecycle.Effect, h *heard) error {
	switch e := e.(type) {
	case lifecycle.Create:
		h.outcome = r.call(ctx, claim, lifecycle.VerbCreate, p, func(b provider.Provider) (provider.Machine, error) {
			e.Request.Cluster = r.Cluster
			return b.Create(ctx, e.Request)
		})
	case lifecycle.Look:
		h.outcome = r.call(ctx, claim, lifecycle.VerbLook, p, func(b provider.Provider) (provider.Machine, error) {
			return b.Get(ctx, e.Machine)
		})
	case lifecycle.Delete:
		h.outcome = r.call(ctx, claim, lifecycle.VerbDelete, p, func(b provider.Provider) (provider.Machine, error) {
			e.Machine.Cluster = r.Cluster
			proof, err := r.Gate.Machine(ctx, gate.Delete, claim, e.Machine)
			if err != nil {
				return e.Machine, err
			}
			h.proven = true
			r.tellProof(claim, p, gate.Delete, proof)
			return e.Machine, b.Delete(ctx, e.Machine, proof)
		})
	case lifecycle.Stop:
		h.outcome = r.call(ctx, claim, lifecycle.VerbStop, p, func(b provider.Provider) (provider.Machine, error) {
			e.Machine.Cluster = r.Cluster
			proof, err := r.Gate.Machine(ctx, gate.Stop, claim, e.Machine)
			if err != nil {
				return e.Machine, err
			}
			h.proven = true
			r.tellProof(claim, p, gate.Stop, proof)
			return b.Stop(ctx, e.Machine, proof)
		})
	case lifecycle.Evict:
		return r.leave(ctx, claim, p, h, gate.Evict, e.Pods, r.Kube.Evict)
	case lifecycle.DeletePod:
		return r.leave(ctx, claim, p, h, gate.DeletePod, e.Pods, r.Kube.DeletePod)
	case lifecycle.LookPods:
		return r.lookPods(ctx, claim, h)
	case lifecycle.Event:
		r.tell(claim, e)
	default:
		return r.write(ctx, claim, e, h)
	}
	return nil
}

// leave has a batch of pods leave, with one proof for all of them.
func (r *Claims) leave(ctx context.Context, claim *v1alpha1.NodeClaim, p *progress, h *heard, act gate.Act, pods []lifecycle.PodOnNode,
	do func(context.Context, v1alpha1.PodReference, gate.Proof) error,
) error {
	proof, err := r.Gate.Pods(ctx, act, claim, pods)
	if err != nil {
		return h.hearGate(err)
	}
	h.proven = true
	r.tellProof(claim, p, act, proof)
	for _, pod := range pods {
		if r.Leading != nil && !r.Leading() {
			return errNotLeading
		}
		if errors.Is(proof.CoversPod(pod.UID, r.Now(), act), gate.ErrNoProof) {
			continue // it has left
		}
		if err := p.hear(pod, do(ctx, podRef(pod), proof)); err != nil {
			return err
		}
	}
	return nil
}

// hearGate keeps a refusal for the next step; another error is one.
func (h *heard) hearGate(err error) error {
	if !errors.As(err, &h.refused) {
		return err
	}
	return nil
}

// lookPods reads the pods of a claim's Node, and of every other Node that could be its machine.
func (r *Claims) lookPods(ctx context.Context, claim *v1alpha1.NodeClaim, h *heard) error {
	for _, name := range nodeNames(claim, r.nodes(claim)) {
		pods, err := r.Kube.PodsOn(ctx, name)
		if err != nil {
			return err
		}
		h.pods = append(h.pods, pods...)
	}
	h.looked = true
	return nil
}

func (r *Claims) write(ctx context.Context, claim *v1alpha1.NodeClaim, e lifecycle.Effect, h *heard) error {
	switch e := e.(type) {
	case lifecycle.UpdateNode:
		return ignoreStale(r.Kube.UpdateNode(ctx, e.Old, e.New))
	case lifecycle.DeleteNode:
		e.Machine.Cluster = r.Cluster
		proof, err := r.Gate.Node(ctx, claim, e.Machine, e.Name)
		if err != nil {
			return h.hearGate(err)
		}
		return ignoreStale(r.Kube.DeleteNode(ctx, e.Name, e.UID, proof))
	case lifecycle.Withdraw:
		return r.withdraw(ctx, claim, e.UID)
	case lifecycle.DeleteClaim:
		return ignoreStale(r.Kube.DeleteClaim(ctx, e.Name, e.UID))
	case lifecycle.RemoveFinalizer:
		return r.removeFinalizer(ctx, claim, e.UID)
	}
	return fmt.Errorf("%T: %w", e, errUnknownEffect)
}

var (
	errUnknownEffect = errors.New("no way to perform this effect")
	errNotLeading    = errors.New("no longer leading")
)

// ignoreStale: the object changed or is gone; the next step decides on what is there then.
func ignoreStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// hear remembers what the API server said of a pod that is to leave, when it is an answer about the pod: a budget that allows
// none (429), several budgets for one pod (500), no right to delete it (403).
func (p *progress) hear(pod lifecycle.PodOnNode, err error) error {
	if !apierrors.IsTooManyRequests(err) && !apierrors.IsInternalError(err) && !apierrors.IsForbidden(err) {
		delete(p.refused, pod.UID)
		return ignoreStale(err)
	}
	if p.refused == nil {
		p.refused = map[types.UID]string{}
	}
	p.refused[pod.UID] = refusal(err)
	return nil
}

// refusal is what the API server says, with what it says of the budget.
func refusal(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			text += " " + cause.Message
		}
	}
	return text
}

// withdraw takes the release off the version that was committed: who has changed it since has another say.
func (r *Claims) withdraw(ctx context.Context, claim *v1alpha1.NodeClaim, uid types.UID) error {
	known := r.Live.Claim(claim.Name)
	if known == nil || known.UID != uid || known.Spec.Release == nil {
		return nil
	}
	c := known.DeepCopy()
	c.Spec.Release = nil
	updated, err := r.Kube.UpdateClaim(ctx, c)
	if err != nil {
		return ignoreStale(err)
	}
	r.Live.SetClaim(updated)
	return nil
}

// removeFinalizer lets the claim go. The claim may just have been deleted, so the finalizer comes off the version that
// is known after that; a conflict is tried again when the watch has delivered it.
func (r *Claims) removeFinalizer(ctx context.Context, claim *v1alpha1.NodeClaim, uid types.UID) error {
	if known := r.Live.Claim(claim.Name); known != nil && known.UID == uid {
		claim = known
	}
	c := claim.DeepCopy()
	c.Finalizers = nil
	for _, f := range claim.Finalizers {
		if f != v1alpha1.ClaimFinalizer {
			c.Finalizers = append(c.Finalizers, f)
		}
	}
	if _, err := r.Kube.UpdateClaim(ctx, c); err != nil {
		return ignoreStale(err)
	}
	if c.DeletionTimestamp != nil {
		r.Live.ForgetClaim(c.Name, uid)
		r.Forget(uid)
	}
	return nil
}

// ReasonProven is the reason of the event that names what the first act of a kind rests on.
const ReasonProven = "Proven"

// tellProof names the items of a proof in an event, once for each kind of act of an attempt.
func (r *Claims) tellProof(claim *v1alpha1.NodeClaim, p *progress, act gate.Act, proof gate.Proof) {
	key := fmt.Sprintf("%s %d", act, claim.Status.Attempts)
	if p.proven[key] {
		return
	}
	if p.proven == nil {
		p.proven = map[string]bool{}
	}
	p.proven[key] = true
	r.Kube.Event(Subject{Kind: "NodeClaim", PodReference: v1alpha1.PodReference{Name: claim.Name, UID: claim.UID}}, false, ReasonProven,
		fmt.Sprintf("%s: %s", act, proof))
}

// identityReasons are told on the Provider as well: what contradicts its own records is for its operator to see.
var identityReasons = []string{gate.ReasonIdentityMismatch, gate.ReasonIdentityAmbiguous}

func (r *Claims) tell(claim *v1alpha1.NodeClaim, e lifecycle.Event) {
	warning := e.Type == corev1.EventTypeWarning
	about := Subject{Kind: "NodeClaim", PodReference: v1alpha1.PodReference{Name: claim.Name, UID: claim.UID}}
	r.Kube.Event(about, warning, e.Reason, e.Message)
	if slices.Contains(identityReasons, e.Reason) {
		if pr := r.Live.Provider(claim.Spec.Provider); pr != nil {
			about := Subject{Kind: "Provider", PodReference: v1alpha1.PodReference{Name: pr.Name, UID: pr.UID}}
			r.Kube.Event(about, warning, e.Reason, claim.Name+": "+e.Message)
		}
	}
	for _, ref := range e.Pods {
		r.Kube.Event(Subject{Kind: "Pod", PodReference: ref}, warning, e.Reason, claim.Name+": "+e.Message)
	}
	r.Log.Info("event", "claim", claim.Name, "reason", e.Reason, "message", e.Message)
}
