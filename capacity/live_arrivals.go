package capacity

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// arrival is a machine on its way: where its pods will stand once it is there. The scheduler's own filters know nothing of
// these, and a pod that takes their place in a zone now leaves the machine empty.
type arrival struct {
	claim  *v1alpha1.NodeClaim
	labels map[string]string // that its node is sure to carry
	kept   []*Pod            // that its claim keeps room for
	shy    bool              // one of them keeps others off by more than room
	stale  bool              // kept has to be read again
}

// followArrival notes the machines that are on their way.
func (l *Live) followArrival(old, fresh *v1alpha1.NodeClaim) {
	if old != nil {
		delete(l.arrivals, old.Name)
	}
	if fresh != nil && InFlight(fresh) && len(fresh.Spec.Reserved) > 0 {
		l.arrivals[fresh.Name] = &arrival{claim: fresh, labels: promisedLabels(fresh), stale: true}
	}
}

// settleArrival has a claim's pods read again when somebody looks at them next.
func (l *Live) settleArrival(claim string) {
	if a := l.arrivals[claim]; a != nil {
		a.stale = true
	}
}

// read finds the pods that wait for the machine.
func (a *arrival) read(l *Live) {
	a.kept, a.shy, a.stale = a.kept[:0], false, false
	for _, ref := range a.claim.Spec.Reserved {
		if p := l.pods[ref.UID]; p != nil && l.waitsFor(p, a.claim) {
			a.kept, a.shy = append(a.kept, p), a.shy || p.shy()
		}
	}
}

// countWary counts a pod that waits and is shy, or no longer where n is -1.
func (l *Live) countWary(p *Pod, n int) {
	if p != nil && p.Pending() && p.shy() {
		l.wary += n
	}
}

// considerArrivals counts the pods that are to come to machines whose nodes are not there. Who may not share a domain with
// them stays out of it. Who would only tilt their spread stays out as well once a plan has counted it elsewhere, or has found
// nothing for it: a plan counts what a domain can take, and knows of all; a pod that none has seen yet may be one too many or not.
func (r *rivals) considerArrivals() {
	repels, later := r.pod.repels(), !r.provided && r.planned(r.pod.UID)
	for name, a := range r.arrivals {
		if len(r.claimed[name]) > 0 {
			continue // its node is there, and counts for itself
		}
		if a.stale {
			a.read(r.Live)
		}
		if !a.shy && !repels {
			continue
		}
		for _, other := range a.kept {
			if !r.matters(other) {
				continue
			}
			over := r.over(other)
			note(&r.domains, a.labels, over.apart)
			r.tie(a.labels, over.draws)
			switch {
			case later:
				note(&r.tilted, a.labels, over.tilts)
			case r.provided && !twins(r.pod, other):
				note(&r.domains, a.labels, over.tilts)
			}
		}
	}
}

// planned says whether a plan has counted a pod that lacks room.
func (l *Live) planned(uid types.UID) bool {
	s := l.ledger.byPod[uid]
	return s != nil && s.Planned
}

// homebound says whether a pod is the last for which a machine on its way comes, while pods wait that have rules about others:
// it leaves the room on other machines that have just come to pods that have none. Rules kept that room from it in the plan,
// and what let it in since is no reason for its own machine to stay empty.
func (l *Live) homebound(uid types.UID) bool {
	if l.wary == 0 || l.expected[uid] != "" {
		return false
	}
	claim := l.claims.keeper(uid)
	return claim != nil && InFlight(claim) && l.awaitedByOne(claim)
}

// awaitedByOne says whether a claim keeps room for no more than one pod by now.
func (l *Live) awaitedByOne(claim *v1alpha1.NodeClaim) bool {
	pods := 0
	for _, ref := range claim.Spec.Reserved {
		if p := l.pods[ref.UID]; p != nil && l.waitsFor(p, claim) {
			if pods++; pods > 1 {
				return false
			}
		}
	}
	return true
}

// isNew says whether a node came for pods whose time to take its room is not over.
func (l *Live) isNew(e *entry) bool {
	claim := l.claims.byName[e.Claim]
	return claim != nil && len(claim.Spec.Reserved) > 0 && !l.claims.expired[claim.UID]
}
