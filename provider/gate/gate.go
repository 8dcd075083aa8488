// Package gate decides whether an act that cannot be taken back may be done now: deleting, stopping or switching off a machine,
// deleting a Node, evicting or deleting a pod, handing a host to another claim.
//
// Judge takes Evidence, which a loop has read past every cache after the intent was written, and answers with a Proof or with a
// Refusal that names every clause that does not hold. All clauses are positive statements: what was not read, is missing, is
// ambiguous or contradicts what was recorded holds none of them. A Proof has no exported fields and no other maker, is bound to
// one machine, claim and attempt, is good for Life and is spent by the act.
//
// The package reads no clock, client or log, and knows no backend. docs/gate.md is its table for people.
package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Act is an act that cannot be taken back.
type Act string

// The acts. Their spelling is that of the log, the events and the recording.
const (
	Delete     Act = "delete the machine"
	Stop       Act = "stop the machine"
	PowerOff   Act = "switch the host off"
	DeleteNode Act = "delete the Node"
	Evict      Act = "evict pods"
	DeletePod  Act = "delete pods"
	Preempt    Act = "evict pods for a more important one"
	HandOver   Act = "hand the host to a claim"
)

// Acts lists them all.
var Acts = []Act{Delete, Stop, PowerOff, DeleteNode, Evict, DeletePod, Preempt, HandOver}

// Life is how long a Proof is good after the first of its readings was begun.
const Life = 10 * time.Second

// Subject is what an act is done to. Fields that the act has no use for are empty.
type Subject struct {
	// Machine is the provider's ID of the machine; for PowerOff and HandOver the name of the Host.
	Machine  string
	ClaimUID types.UID
	Attempt  int32
	// Node is the Node that is deleted, or whose pods leave.
	Node string
}

func (s Subject) String() string {
	switch {
	case s.Machine != "":
		return fmt.Sprintf("machine %s of claim UID %s, attempt %d", s.Machine, s.ClaimUID, s.Attempt)
	case s.Node != "":
		return "node " + s.Node
	}
	return fmt.Sprintf("claim UID %s", s.ClaimUID)
}

// Proof is the permission to do one act to one subject. The zero value permits nothing.
type Proof struct{ p *proof }

type proof struct {
	act      Act
	subject  Subject
	identity Identity
	pods     []types.UID // of Evict, DeletePod and Preempt
	began    time.Time
	items    []Item
	spent    bool
}

// Item is one clause that held, with what was read.
type Item struct{ Clause, Found string }

// Items are the clauses that the proof rests on, for the log, the event and the recording.
func (p Proof) Items() []Item {
	if p.p == nil {
		return nil
	}
	return slices.Clone(p.p.items)
}

// String names the clauses with what was read.
func (p Proof) String() string {
	if p.p == nil {
		return "no proof"
	}
	parts := make([]string, len(p.p.items))
	for i, item := range p.p.items {
		parts[i] = item.Clause + ": " + item.Found
	}
	return strings.Join(parts, "; ")
}

// Identity is what the machine is proven to be; a backend compares it with what it meets at the act itself.
func (p Proof) Identity() Identity {
	if p.p == nil {
		return Identity{}
	}
	return p.p.identity
}

// Errors of Spend and Covers.
var (
	// ErrNoProof means that there is no proof of this act for this subject.
	ErrNoProof = errors.New("no proof for this act")
	// ErrStale means that the proof was good and is spent or too old: prove again.
	ErrStale = errors.New("the proof is spent or too old")
)

// Check says whether the proof permits an act to a subject now, without spending it.
func (p Proof) Check(act Act, s Subject, now time.Time) error {
	switch {
	case p.p == nil:
		return fmt.Errorf("%s, %s: %w", act, s, ErrNoProof)
	case p.p.act != act || p.p.subject != s:
		return fmt.Errorf("%s, %s: the proof is to %s, %s: %w", act, s, p.p.act, p.p.subject, ErrNoProof)
	case p.p.spent, now.Sub(p.p.began) > Life, now.Before(p.p.began):
		return fmt.Errorf("%s, %s: %w", act, s, ErrStale)
	}
	return nil
}

// Spend is Check, and ends the proof. An act calls it once, before its first request that changes anything.
func (p Proof) Spend(act Act, s Subject, now time.Time) error {
	if err := p.Check(act, s, now); err != nil {
		return err
	}
	p.p.spent = true
	return nil
}

// SpendNode is Spend for the deletion of a Node.
func (p Proof) SpendNode(name string, now time.Time) error {
	if p.p == nil || p.p.act != DeleteNode || p.p.subject.Node != name {
		return fmt.Errorf("%s %s: %w", DeleteNode, name, ErrNoProof)
	}
	return p.Spend(DeleteNode, p.p.subject, now)
}

// CoversPod says whether the proof is to one of these acts and permits it to this very pod now. A batch of pods shares a proof; it is
// not spent, and ends with its Life.
func (p Proof) CoversPod(pod types.UID, now time.Time, acts ...Act) error {
	switch {
	case p.p == nil || !slices.Contains(acts, p.p.act) || !slices.Contains(p.p.pods, pod):
		return fmt.Errorf("%s, pod UID %s: %w", acts[0], pod, ErrNoProof)
	case now.Sub(p.p.began) > Life, now.Before(p.p.began):
		return fmt.Errorf("%s, pod UID %s: %w", acts[0], pod, ErrStale)
	}
	return nil
}
