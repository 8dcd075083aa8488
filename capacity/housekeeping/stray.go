package housekeeping

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// StrayAge is how long the Node of a machine that is proven gone has to be without a heartbeat before it is deleted.
const StrayAge = time.Minute

// ClaimOf is the UID of the claim that a Node was registered or fenced for; empty for a Node that never was ours.
func ClaimOf(n *corev1.Node) types.UID {
	return types.UID(n.Annotations[v1alpha1.RegisteredAnnotation])
}

// StrayNode is a Node of ours whose claim the API server does not have.
type StrayNode struct {
	Node *corev1.Node
	// Pods are how many pods of its own are bound to it.
	Pods int
	// Gone says that every provider proved that it has no machine of the Node's claim.
	Gone bool
	// Silent is since when this process has seen the Node without a heartbeat. Where it is zero, the Node's own word counts.
	Silent time.Time
}

// Verdict says why a stray Node is spared, or that it is deleted.
type Verdict string

// The verdicts. Only Delete acts.
const (
	Delete    Verdict = "Deleted"   // its machine is proven gone, and so is the kubelet
	Unproven  Verdict = "Unproven"  // a provider has its machine, or does not answer
	Alive     Verdict = "Alive"     // it is Ready though its machine is gone: two sources disagree
	Fresh     Verdict = "Fresh"     // without a heartbeat for a moment only
	InUse     Verdict = "InUse"     // pods run there
	NotOurs   Verdict = "NotOurs"   // no claim's UID is on it
	Preserved Verdict = "Preserved" // somebody asked for it to be kept
)

// JudgeStray says whether a Node without a claim is deleted. It is when its machine is proven gone and the Node says so,
// too: it has no heartbeat, or it is one that we fenced and emptied ourselves.
func JudgeStray(s StrayNode, now time.Time) Verdict {
	silent, since := IsSilent(s.Node)
	if !s.Silent.IsZero() {
		since = s.Silent
	}
	switch {
	case ClaimOf(s.Node) == "":
		return NotOurs
	case kept(s.Node):
		return Preserved
	case !s.Gone:
		return Unproven
	case silent && now.Sub(since) < StrayAge:
		return Fresh
	case silent:
		return Delete
	case !Fenced(s.Node):
		return Alive
	case s.Pods > 0:
		return InUse
	}
	return Delete
}

// IsSilent says whether a Node is not Ready, and since when by its own word.
func IsSilent(n *corev1.Node) (bool, time.Time) {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return true, n.CreationTimestamp.Time
	}
	c := n.Status.Conditions[i]
	return c.Status != corev1.ConditionTrue, c.LastTransitionTime.Time
}
