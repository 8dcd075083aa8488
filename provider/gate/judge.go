package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-sh/muster/provider/identity"
)

// clause is one thing that has to hold before an act.
type clause struct {
	// name is its spelling in logs and events, reason that of the condition ReleaseBlocked.
	name, reason string
	acts         []Act
	// holds returns what was found, or why the clause does not hold.
	holds func(e *Evidence, now time.Time) (found, not string)
}

// Reasons of refusals that others tell, too: a contradiction is seen before an act is asked for.
const (
	ReasonIdentityMismatch  = "IdentityMismatch"
	ReasonIdentityAmbiguous = "IdentityAmbiguous"
	ReasonPodsOnNode        = "PodsOnNode"
)

// machines are the acts that a machine does not survive.
var machines = []Act{Delete, Stop, PowerOff}

// clauses is the table of the gate, in the order in which a refusal names what is missing.
var clauses = []clause{
	{"readings are fresh", "NotProven", Acts, fresh},
	{"releases are not frozen", "Frozen", Acts, notFrozen},
	{"the intent is recorded", "NotAsked", Acts, intended},
	{"the mark is ours", "NotOurs", machines, marked},
	{"the identity is the recorded one", ReasonIdentityMismatch, machines, identical},
	{"the machine is gone", "MachineNotGone", []Act{DeleteNode}, gone},
	{"no other machine is meant", ReasonIdentityAmbiguous, append(slices.Clone(machines), DeleteNode, HandOver), unique},
	{"each Node belongs to this machine alone", ReasonIdentityAmbiguous, append(slices.Clone(machines), DeleteNode, Evict, DeletePod), owned},
	{"the Node is there", "NodeChanged", []Act{DeleteNode, Evict, DeletePod}, there},
	{"the Nodes are closed", "NodeOpen", append(slices.Clone(machines), DeleteNode, Evict, DeletePod), closed},
	{"no pod is left", ReasonPodsOnNode, append(slices.Clone(machines), HandOver), empty},
	{"no old Node is left", "NodeRemains", []Act{HandOver}, handed},
	{"no protected pod is touched", "ProtectedPods", []Act{Evict, DeletePod}, unprotected},
}

// Clauses names all clauses of an act, for docs and tests.
func Clauses(act Act) []string {
	var names []string
	for _, c := range clauses {
		if slices.Contains(c.acts, act) {
			names = append(names, c.name)
		}
	}
	return names
}

// Refusal is why an act is not done. It is an error to be told, not one of the backend.
type Refusal struct {
	Act     Act
	Subject Subject
	// Missing are the clauses that do not hold, with what was found instead.
	Missing []Item
	// Reason is that of the first one, in CamelCase.
	Reason string
}

// Error names every clause that does not hold, and what a person can do.
func (r *Refusal) Error() string {
	parts := make([]string, len(r.Missing))
	for i, m := range r.Missing {
		parts[i] = m.Found
	}
	return fmt.Sprintf("refused to %s: %s", r.Act, strings.Join(parts, "; "))
}

// Judge decides whether the evidence permits its act now. The error is a *Refusal.
func Judge(e Evidence, now time.Time) (Proof, error) { return judge(clauses, e, now) }

func judge(table []clause, e Evidence, now time.Time) (Proof, error) {
	p := &proof{act: e.Act, subject: e.Subject, began: e.Began, identity: e.Machine.value.Recorded, pods: slices.Clone(e.Pods)}
	refusal := &Refusal{Act: e.Act, Subject: e.Subject}
	for _, c := range table {
		if !slices.Contains(c.acts, e.Act) {
			continue
		}
		found, not := c.holds(&e, now)
		if not == "" {
			p.items = append(p.items, Item{c.name, found})
			continue
		}
		if refusal.Reason == "" {
			refusal.Reason = c.reason
		}
		refusal.Missing = append(refusal.Missing, Item{c.name, not})
	}
	if len(refusal.Missing) > 0 {
		return Proof{}, refusal
	}
	if !slices.Contains(Acts, e.Act) {
		return Proof{}, &Refusal{Act: e.Act, Subject: e.Subject, Reason: "NotAsked", Missing: []Item{{"the intent is recorded", "no such act"}}}
	}
	return Proof{p}, nil
}

// unread says that a reading is missing.
func unread[T any](r Reading[T], what string) string {
	switch {
	case r.known:
		return ""
	case r.failed != "":
		return fmt.Sprintf("%s could not be read: %s", what, r.failed)
	}
	return what + " was not read"
}

func fresh(e *Evidence, now time.Time) (found, not string) {
	age := now.Sub(e.Began)
	if e.Began.IsZero() || age < 0 || age > Life {
		return "", fmt.Sprintf("the readings are %s old, and %s is the most", age.Round(time.Millisecond), Life)
	}
	return "read " + age.Round(time.Millisecond).String() + " ago", ""
}

func notFrozen(e *Evidence, _ time.Time) (found, not string) {
	if not := unread(e.Frozen, "the freeze"); not != "" {
		return "", not
	}
	if e.Frozen.value != "" {
		return "", e.Frozen.value
	}
	return "no freeze", ""
}

func intended(e *Evidence, _ time.Time) (found, not string) {
	i := e.Intent.value
	switch not := unread(e.Intent, "the object that asks for it"); {
	case not != "":
		return "", not
	case i.Missing:
		return "", "the object that asked for it is gone"
	case i.Not != "" || i.Asks == "":
		return "", "it is not asked for: " + i.Not
	}
	return i.Asks, ""
}

func marked(e *Evidence, _ time.Time) (found, not string) {
	m := e.Machine.value
	switch not := unread(e.Machine, "the machine"); {
	case not != "":
		return "", not
	case m.Absent:
		return "there is no machine", ""
	case e.Cluster == "" || m.Cluster != e.Cluster:
		return "", fmt.Sprintf("the machine's mark names cluster %q, ours is %q", m.Cluster, e.Cluster)
	case m.ClaimUID == "" || m.ClaimUID != e.Subject.ClaimUID:
		return "", fmt.Sprintf("the machine's mark names claim UID %q", m.ClaimUID)
	case m.Attempt != e.Subject.Attempt:
		return "", fmt.Sprintf("the machine's mark names attempt %d, not %d", m.Attempt, e.Subject.Attempt)
	}
	return fmt.Sprintf("cluster %s, claim UID %s, attempt %d", m.Cluster, m.ClaimUID, m.Attempt), ""
}

func identical(e *Evidence, _ time.Time) (found, not string) {
	m := e.Machine.value
	if not := unread(e.Machine, "the machine"); not != "" {
		return "", not
	}
	if m.Absent {
		return "there is no machine", ""
	}
	if m.NeverStarted && e.Act == Delete && identity.Contradiction(m.Recorded, m.Now) == "" {
		return "the machine was never switched on for the claim", ""
	}
	if why := identity.Unproven(m.Recorded, m.Now); why != "" {
		return "", "it is not proven to be the recorded machine: " + why
	}
	return identity.String(m.Now), ""
}

func gone(e *Evidence, _ time.Time) (found, not string) {
	if not := unread(e.Machine, "the machine"); not != "" {
		return "", not
	}
	if !e.Machine.value.Absent {
		return "", "the provider has the machine"
	}
	if by := e.Machine.value.ByWordOf; by != "" {
		return "the machine is gone, by the word of " + by, ""
	}
	return "the provider has no machine of the claim", ""
}

// nothing says that the act is to what is left of a machine that the provider proved absent.
func nothing(e *Evidence) bool { return e.Act == Delete && e.Machine.known && e.Machine.value.Absent }

func unique(e *Evidence, _ time.Time) (found, not string) {
	if nothing(e) {
		return "there is no machine", ""
	}
	if not := unread(e.Twins, "the other machines"); not != "" {
		return "", not
	}
	if twins := e.Twins.value; len(twins) > 0 {
		return "", "it cannot be told apart from " + list(twins)
	}
	return "no other has its identity", ""
}

func owned(e *Evidence, _ time.Time) (found, not string) {
	if nothing(e) {
		return "there is no machine", ""
	}
	if not := unread(e.Nodes, "the Nodes"); not != "" {
		return "", not
	}
	var names, shared []string
	for _, n := range e.Nodes.value {
		names = append(names, n.Name)
		if len(n.Others) > 0 {
			shared = append(shared, fmt.Sprintf("Node %s could also be the machine of %s", n.Name, list(n.Others)))
		}
	}
	if len(shared) > 0 {
		return "", strings.Join(shared, "; ")
	}
	return "Nodes: " + list(names), ""
}

func there(e *Evidence, _ time.Time) (found, not string) {
	if not := unread(e.Nodes, "the Nodes"); not != "" {
		return "", not
	}
	i := slices.IndexFunc(e.Nodes.value, func(n Node) bool { return n.Name == e.Subject.Node })
	if i < 0 {
		return "", fmt.Sprintf("Node %s is not there, or is another machine's", e.Subject.Node)
	}
	return e.Nodes.value[i].Why, ""
}

func closed(e *Evidence, _ time.Time) (found, not string) {
	if nothing(e) {
		return "there is no machine", ""
	}
	if not := unread(e.Nodes, "the Nodes"); not != "" {
		return "", not
	}
	for _, n := range e.Nodes.value {
		if n.Ready && !n.Closed {
			return "", fmt.Sprintf("Node %s is Ready and not closed to pods", n.Name)
		}
	}
	return "no Node takes pods", ""
}

func empty(e *Evidence, _ time.Time) (found, not string) {
	if nothing(e) {
		return "there is no machine", ""
	}
	if not := unread(e.On, "the pods"); not != "" {
		return "", not
	}
	if e.Restart {
		return silent(e)
	}
	if pods := e.On.value; len(pods) > 0 {
		return "", "pods are bound there: " + tell(pods)
	}
	return "no pod but those of DaemonSets", ""
}

// silent says that a machine may be restarted under its pods: its Nodes are known, none of them is Ready, and no pod's owner asked for it
// to be left alone.
func silent(e *Evidence) (found, not string) {
	if not := unread(e.Nodes, "the Nodes"); not != "" {
		return "", not
	}
	if len(e.Nodes.value) == 0 {
		return "", "it has no Node that could be silent"
	}
	for _, n := range e.Nodes.value {
		if n.Ready {
			return "", fmt.Sprintf("Node %s is Ready, and is not to be restarted", n.Name)
		}
	}
	if kept := protected(e.On.value); len(kept) > 0 {
		return "", "pods that are not to be disturbed: " + tell(kept)
	}
	return fmt.Sprintf("no Node is Ready; pods that stay for the restart: %d", len(e.On.value)), ""
}

func handed(e *Evidence, _ time.Time) (found, not string) {
	if not := unread(e.Nodes, "the Nodes"); not != "" {
		return "", not
	}
	for _, n := range e.Nodes.value {
		return "", fmt.Sprintf("Node %s of the last claim is still there", n.Name)
	}
	return "the last claim's Node is gone", ""
}

func unprotected(e *Evidence, _ time.Time) (found, not string) {
	if not := unread(e.On, "the pods"); not != "" {
		return "", not
	}
	if kept := protected(e.On.value); len(kept) > 0 {
		return "", "pods that are not to be moved: " + tell(kept)
	}
	return fmt.Sprintf("pods: %d, protected: none", len(e.On.value)), ""
}

func protected(pods []Pod) (kept []Pod) {
	for _, p := range pods {
		if p.Protected != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// most is how many names a text lists.
const most = 3

func list(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func tell(pods []Pod) string {
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = fmt.Sprintf("%s/%s on %s", p.Namespace, p.Name, p.Node)
		if p.Protected != "" {
			names[i] += " (" + p.Protected + ")"
		}
	}
	return list(names)
}
