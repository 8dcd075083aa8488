// Package housekeeping decides what becomes of machines and Nodes of ours that no claim speaks for: found twice, confirmed
// by the API server, fenced, and only then removed. It guesses nothing: a claim that was lost is not made again, what is
// another cluster's is not looked at, and what nobody knows the owner of is told and left alone. It reads no clock, client
// or log.
package housekeeping

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// Grace is how far apart the two complete listings are at least that have to show a machine without a claim.
const Grace = 45 * time.Second

// Listing is a complete list of a provider's machines, begun at a time, and the claims that were read after it: a machine
// is made after its claim, so one that has none then has lost it.
type Listing struct {
	Machines []provider.Machine
	Claims   []*v1alpha1.NodeClaim
	// Kept says whether the machine of a claim was handed over to the user; nil: none was.
	Kept  func(claim types.UID) bool
	Began time.Time
}

// Key is one machine, and no other that came to its ID later.
type Key struct {
	ID       provider.ID
	ClaimUID types.UID
}

// KeyOf is a machine's Key.
func KeyOf(m provider.Machine) Key { return Key{m.ID, m.ClaimUID} }

// Standing says how it is with a machine without a claim. One spelling for metrics, logs and events.
type Standing string

// The standings that the listings of a provider give. Only Orphaned may be acted on.
const (
	Suspected    Standing = "Suspected"    // not yet in two listings that are Grace apart
	Unidentified Standing = "Unidentified" // its mark does not say which cluster it belongs to: never removed
	Orphaned     Standing = "Orphaned"     // to be confirmed by the API server
)

// Orphan is a machine without a claim.
type Orphan struct {
	provider.Machine
	Standing Standing
	// Since is when the first of the listings was begun that show it without a claim.
	Since time.Time
}

// Suspects says since which listing each machine has been without a claim, in every one after that.
type Suspects map[Key]time.Time

// Follow takes a listing in: what is in it without a claim keeps its time or begins one, all else is forgotten.
func (s Suspects) Follow(l Listing, own types.UID) Suspects {
	next := Suspects{}
	for _, m := range unclaimed(l, own) {
		since, known := s[KeyOf(m)]
		if !known {
			since = l.Began
		}
		next[KeyOf(m)] = since
	}
	return next
}

// Judge says of each machine without a claim how it stands after this listing, by ID. The Suspects have followed it.
func (s Suspects) Judge(l Listing, own types.UID) []Orphan {
	var out []Orphan
	for _, m := range unclaimed(l, own) {
		o := Orphan{Machine: m, Standing: Suspected, Since: s[KeyOf(m)]}
		switch {
		case m.Cluster == "" || own == "" || m.ClaimUID == "":
			o.Standing = Unidentified
		case l.Began.Sub(o.Since) >= Grace:
			o.Standing = Orphaned
		}
		out = append(out, o)
	}
	return out
}

// unclaimed are the machines without a claim that are not known to be another cluster's, by ID. A machine that is kept for
// the next claim has none by right.
func unclaimed(l Listing, own types.UID) []provider.Machine {
	claimed := make(map[types.UID]bool, len(l.Claims))
	for _, c := range l.Claims {
		claimed[c.UID] = true
	}
	var out []provider.Machine
	for _, m := range l.Machines {
		others := m.Cluster != "" && own != "" && m.Cluster != own
		kept := m.State == provider.StateKept && m.Cluster != "" || l.Kept != nil && m.ClaimUID != "" && l.Kept(m.ClaimUID)
		if !others && !kept && (m.ClaimUID == "" || !claimed[m.ClaimUID]) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b provider.Machine) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.ClaimUID, b.ClaimUID))
	})
	return out
}
