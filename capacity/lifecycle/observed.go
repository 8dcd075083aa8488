package lifecycle

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// Observed is what the loop saw of the world for one claim in this tick.
type Observed struct {
	// Node is the Node matched to this claim, nil when there is none; NodeBy says what they have in common.
	Node   *corev1.Node
	NodeBy identity.How

	// Others are further Nodes of this machine alone: a kubelet that registered under another name left them, or is one of them.
	Others []*corev1.Node
	// Ambiguous says which Node could be this machine and another claim's as well; empty when none could.
	Ambiguous string

	// Pods keep a drain waiting: the pods bound to one of these Nodes, or to the name of the one on record, that are not finished,
	// and the pods a hold keeps room for there. DaemonSet pods and mirror pods are left out by the caller.
	Pods []PodOnNode
	// PodsFresh says that Pods was read from the API server in this tick and not from a cache. A drain ends on such a
	// look only. Where there is no cache it is always true.
	PodsFresh bool
	// Attached are the volumes attached to the Node.
	Attached []string

	// Unheard says that pods may wait that nobody has said anything of yet: the filter does not answer after a start, or a
	// pod came a moment ago. A release that may still be withdrawn does not become final meanwhile.
	Unheard bool

	// Held says why a claim that is being deleted keeps its machine all the same; empty when it does not.
	Held string

	// Machine is what the provider last said of this claim. The zero value is Unseen.
	Machine Sighting
	// Outcome is the result of the provider call made since the last step, nil when there was none.
	Outcome *Outcome
	// Refused is why the gate did not permit what the last step asked for; Proven says that it did.
	Refused *gate.Refusal
	Proven  bool
	// Confirmed is the person whose word it is that the machine of this attempt is gone, where the gate accepts that word.
	Confirmed string
	// Untaken is why the word of a person is not taken.
	Untaken string
	// Asked is when this process last called the provider for this claim; zero when it never did.
	Asked time.Time
	// Term is when this process began to lead. Waits that the claim notes as begun before that are of another clock, and are
	// counted from then; zero where all of them are this process's own.
	Term time.Time
}

// PodOnNode is one pod that keeps a drain waiting.
type PodOnNode struct {
	Namespace   string
	Name        string
	UID         types.UID
	Terminating bool
	Priority    int32
	// Stay says why the pod is not to be evicted, other than by whoever deletes the claim; empty for one that may be.
	Stay string
	// Refused is what the Eviction API last said of it when it did not take it.
	Refused string
}

// Presence says how much is known of a machine.
type Presence int

// Only Absent is proof that there is no machine.
const (
	Unseen Presence = iota
	Present
	Absent
)

// Sighting is what a provider said of the machine of a claim.
type Sighting struct {
	Presence Presence
	// Machine is set when Present.
	Machine provider.Machine
	// At is when the call that gave this answer was begun.
	At time.Time
}

// Seen is the sighting of a machine that was returned by a call begun at the given time, also by List.
func Seen(m provider.Machine, at time.Time) Sighting {
	return Sighting{Presence: Present, Machine: m, At: at}
}

// Newest returns the sighting whose call was begun later.
func (s Sighting) Newest(other Sighting) Sighting {
	if other.Presence != Unseen && (s.Presence == Unseen || other.At.After(s.At)) {
		return other
	}
	return s
}

// Verb is a call to a provider.
type Verb string

// The calls that Step asks for.
const (
	VerbCreate Verb = "create"
	VerbLook   Verb = "look"
	VerbDelete Verb = "delete"
	VerbStop   Verb = "stop"
)

// Outcome is the result of one provider call. Err is the error as the provider returned it.
type Outcome struct {
	Verb    Verb
	Machine provider.Machine
	Err     error
	// Began is when the call was begun.
	Began time.Time
}

// After returns what is known after a call. Only ErrNotFound from Get, Delete or Stop proves absence; an error of any other
// kind leaves things as they were.
func (s Sighting) After(o Outcome) Sighting {
	switch {
	case o.reserved():
	case o.Err == nil && o.Verb != VerbDelete:
		return Seen(o.Machine, o.Began)
	case o.Verb != VerbCreate && errors.Is(o.Err, provider.ErrNotFound):
		return Sighting{Presence: Absent, At: o.Began}
	}
	return s
}
