package preemption

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// Ask is a pod for which no pool may grow.
type Ask struct {
	Shortfall *capacity.Shortfall
	// Not are nodes where room was made for it, or was to be made, to no avail.
	Not sets.Set[string]
}

// Decision says what is done for each pod that asks.
type Decision struct {
	// Moves come in the order of the pods' importance; each counts on those before it.
	Moves []Move
	// Refused says of the pods without a move why there is none. Pods that have to wait for the next pass are not in it.
	Refused map[types.UID]capacity.Reason
	// More says that pods were left for the next pass.
	More bool
}

// Move is room on a node for a pod.
type Move struct {
	Pod  *capacity.Pod
	Node string
	// Pool is that of the node; empty where it is of none.
	Pool string
	// Victims are to be evicted, in this order: first those that a PodDisruptionBudget protects, so that nobody else dies
	// when the Eviction API spares them; within both groups the most important first. None where pods leave anyway.
	Victims []*capacity.Pod
	// Protected is how many of Victims a PodDisruptionBudget protects.
	Protected int
	// Short is a budget that allows only some of the evictions: none is to be begun. Nil when there is none.
	Short *capacity.DisruptionBudget
	// Leaving are the pods in deletion on the node.
	Leaving []*capacity.Pod
}

// Decide finds room for the pods that ask, the most important first. Where pods in deletion will leave enough room by
// themselves, that is waited for. Else the fewest and least important pods of one node are named, at most most times.
func Decide(v *capacity.View, asks []Ask, most int, now time.Time) Decision {
	d := newDecider(v, asks, now)
	asks = inOrder(asks)
	for i, a := range asks {
		if most == 0 {
			d.More = i < len(asks)
			break
		}
		d.await(a.Shortfall.Pod.Priority)
		if move, ok := d.decide(a); ok {
			d.Moves = append(d.Moves, move)
			if len(move.Victims) > 0 {
				most--
			}
		}
	}
	return d.Decision
}

func inOrder(asks []Ask) []Ask {
	byPod := make(map[*capacity.Shortfall]Ask, len(asks))
	order := make([]*capacity.Shortfall, 0, len(asks))
	for _, a := range asks {
		byPod[a.Shortfall] = a
		order = append(order, a.Shortfall)
	}
	capacity.SortShortfalls(order)
	sorted := make([]Ask, 0, len(asks))
	for _, s := range order {
		sorted = append(sorted, byPod[s])
	}
	return sorted
}

// decider is one run of Decide.
type decider struct {
	Decision
	v       *capacity.View
	trial   trial
	now     time.Time
	spots   []*spot
	budgets *budgets
	vain    map[*simulation.Class]int32 // the highest priority with which a class asked in vain
	kept    []keeping                   // that are not yet in the trial, by falling priority of their pods
}

// keeping is room that a claim keeps for a pod.
type keeping struct {
	claim *capacity.Claim
	pod   *capacity.Pod
}

// keepings lists who has room of its own, but for those that ask.
func keepings(v *capacity.View, asks []Ask) (kept []keeping) {
	asking := sets.New[types.UID]()
	for _, a := range asks {
		asking.Insert(a.Shortfall.Pod.UID)
	}
	for _, c := range v.Claims {
		for _, p := range v.Reserved[c.Object.Name] {
			if !asking.Has(p.UID) {
				kept = append(kept, keeping{claim: c, pod: p})
			}
		}
	}
	slices.SortStableFunc(kept, func(a, b keeping) int { return cmp.Compare(b.pod.Priority, a.pod.Priority) })
	return kept
}

// await puts pods into the trial that are at least so important and on their way to room of their own: nobody is evicted
// for a pod that would spoil their place. Upstream counts nominated pods alike (addGENominatedPods).
func (d *decider) await(priority int32) {
	for len(d.kept) > 0 && d.kept[0].pod.Priority >= priority {
		d.trial.Await(d.kept[0].pod, d.kept[0].claim)
		d.kept = d.kept[1:]
	}
}

// spot is a node where pods may have to make room.
type spot struct {
	node    *capacity.Node
	place   *simulation.Place
	pods    []*capacity.Pod // that may have to leave, the most important first
	leaving []*capacity.Pod
}

// newDecider takes pods in deletion out of the trial: their room is on its way.
func newDecider(v *capacity.View, asks []Ask, now time.Time) *decider {
	d := &decider{
		Decision: Decision{Refused: map[types.UID]capacity.Reason{}}, v: v, trial: trial{simulation.New(v)}, now: now,
		budgets: newBudgets(v.Budgets), vain: map[*simulation.Class]int32{}, kept: keepings(v, asks),
	}
	for _, k := range d.kept {
		d.trial.Class(k.pod)
	}
	for _, a := range asks {
		d.trial.Class(a.Shortfall.Pod)
	}
	spared := sets.New[string]()
	for _, p := range v.Pools {
		if p.Spec.Preemption == v1alpha1.PreemptionNever {
			spared.Insert(p.Name)
		}
	}
	for _, n := range v.Nodes {
		if n.Stage == capacity.Open {
			frozen, _ := v.Freeze.Releases(n.Pool)
			d.spots = append(d.spots, d.spot(n, frozen || spared.Has(n.Pool)))
		}
	}
	return d
}

// spot sorts the pods of a node. Those that live and die with it are left out: where one leaves, another one comes.
func (d *decider) spot(n *capacity.Node, spared bool) *spot {
	s := &spot{node: n, place: d.trial.On(n.Name)}
	for _, p := range d.v.Pods[n.Name] {
		switch {
		case p.Resident():
		case Leaves(p, d.now):
			d.trial.leave(p, s)
			s.leaving = append(s.leaving, p)
		case !p.Terminating && !spared:
			s.pods = append(s.pods, p)
		}
	}
	sortByImportance(s.pods, d.now)
	return s
}

// overdue is how much longer than its grace period a pod in deletion may take before it counts as stuck.
const overdue = 30 * time.Second

// Leaves says whether a pod is in deletion and can be expected to go: one whose kubelet is dead, or that a finalizer
// keeps, stays for longer than anybody should wait.
func Leaves(p *capacity.Pod, now time.Time) bool {
	return p.Terminating && now.Before(p.Ends.Add(overdue))
}

// Until is when a pod in deletion counts as stuck.
func Until(p *capacity.Pod) time.Time { return p.Ends.Add(overdue) }
