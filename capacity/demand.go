package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Demand is the ledger in numbers, cheap enough to be read on every change.
type Demand struct {
	// Pods is the number of shortfalls, Unplanned how many of them no plan has seen.
	Pods, Unplanned int
	// Beyond is how many pods more wait than are planned for at a time.
	Beyond int
	// First and Last are when the oldest and the newest unplanned shortfall was recorded.
	First, Last time.Time
}

// Demand reads the ledger.
func (l *Live) Demand() Demand {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := Demand{Pods: len(l.ledger.byPod), Beyond: len(l.ledger.beyond)}
	for _, s := range l.ledger.byPod {
		if s.Planned {
			continue
		}
		if d.Unplanned == 0 || s.Since.Before(d.First) {
			d.First = s.Since
		}
		if s.Since.After(d.Last) {
			d.Last = s.Since
		}
		d.Unplanned++
	}
	return d
}

// fillLedger counts pods as shortfalls that were left out while there were too many.
func (l *Live) fillLedger() {
	for uid, since := l.ledger.next(); uid != ""; uid, since = l.ledger.next() {
		if p := l.pods[uid]; p != nil && p.Pending() && l.holds[uid] == nil && l.schedulers.Ours(p.Scheduler) {
			l.ledger.watched(p, since)
		}
	}
}

// TakeLeftOut returns, once, the pods that are not planned for since there are too many shortfalls.
func (l *Live) TakeLeftOut() []*Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	var pods []*Pod
	for _, uid := range l.ledger.told {
		if _, waits := l.ledger.beyond[uid]; waits && l.pods[uid] != nil {
			pods = append(pods, l.pods[uid])
		}
	}
	l.ledger.told = nil
	return pods
}

// MarkPlanned closes the batch window of these shortfalls, but for those that the plan did not get to.
func (l *Live) MarkPlanned(shortfalls []*Shortfall, p Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range shortfalls {
		if known := l.ledger.byPod[s.Pod.UID]; known != nil {
			known.NotePlanned(p.Outcomes[s.Pod.UID])
		}
	}
}

// Generation rises with every change that may alter an answer.
func (l *Live) Generation() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}

// Claim returns the newest version known of a claim, nil when there is none.
func (l *Live) Claim(name string) *v1alpha1.NodeClaim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claims.byName[name]
}

// Claims returns all claims in no order, and a number that changes when any of them does.
func (l *Live) Claims() ([]*v1alpha1.NodeClaim, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*v1alpha1.NodeClaim, 0, len(l.claims.byName))
	for _, c := range l.claims.byName {
		all = append(all, c)
	}
	return all, l.claims.version
}

// Occupants are the pods that keep a node from being empty: those bound or held there that do not live and die with it.
func (l *Live) Occupants(node string) []*Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[node]
	if e == nil {
		return nil
	}
	var pods []*Pod
	for _, p := range e.pods {
		if !p.Resident() {
			pods = append(pods, p)
		}
	}
	for _, h := range e.holds {
		pods = append(pods, h.pod)
	}
	sortPods(pods)
	return pods
}

// TakePlaced returns, once, the pods that were seen bound while their Capacity condition still says that they lack room.
func (l *Live) TakePlaced() []*Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	pods := make([]*Pod, 0, len(l.placed))
	for _, p := range l.placed {
		pods = append(pods, p)
	}
	sortPods(pods)
	clear(l.placed)
	return pods
}

// Pod returns what is known of a pod, nil when nothing is.
func (l *Live) Pod(uid types.UID) *Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods[uid]
}

// Known returns a pod as the view has it if that is the given version, else nil.
func (l *Live) Known(uid types.UID, resourceVersion string) *Pod {
	if p := l.Pod(uid); p != nil && p.version == resourceVersion && resourceVersion != "" {
		return p
	}
	return nil
}

// PlanAgain has a shortfall counted as not planned yet: what was planned for it did not come about.
func (l *Live) PlanAgain(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.ledger.byPod[uid]; s != nil {
		s.Planned = false
		l.changed()
	}
}

// OpenCircuits counts, for each pool, the kinds of pods that it buys no more than a probe for, as its status says.
func (l *Live) OpenCircuits() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(map[string]int, len(l.pools))
	for name, p := range l.pools {
		open[name] = 0
		for i := range p.Status.Circuits {
			if p.Status.Circuits[i].Open() {
				open[name]++
			}
		}
	}
	return open
}
