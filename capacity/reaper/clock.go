package reaper

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// Memory is what a decision knows beside the view: how long things have been as they are. Losing it costs time only.
type Memory struct {
	// Empty and Underused say since when nodes have had no pods of their own, or too few to be worth it. One whose pods are
	// all leaving is neither: it will be empty.
	Empty, Underused Clock
	// Moved is when it was last looked for nodes whose pods could move.
	Moved time.Time
	// Weighed is when it was last looked for nodes that one cheaper machine could replace.
	Weighed time.Time
}

// Clock says by node since when something has been true of it; nodes of which it is not are left out.
type Clock map[string]time.Time

// Follow takes over the times of nodes of which it is still true, and starts the clock of those of which it has become so.
func (m Memory) Follow(v *capacity.View, now time.Time) Memory {
	next := Memory{Empty: Clock{}, Underused: Clock{}, Moved: m.Moved, Weighed: m.Weighed}
	pools := poolsOf(v)
	for _, c := range v.Claims {
		if c.Object.Status.State != v1alpha1.ClaimReady || capacity.Closed(c.Object) {
			continue
		}
		switch why := occupied(v, c.Node); {
		case why == "":
			next.Empty.follow(m.Empty, c.Node.Name, now)
		case why == Occupied && slices.ContainsFunc(v.Pods[c.Node.Name], arrived) && underused(c.Node, pools[c.Object.Spec.Pool]):
			next.Underused.follow(m.Underused, c.Node.Name, now)
		}
	}
	return next
}

func (c Clock) follow(before Clock, node string, now time.Time) {
	since, known := before[node]
	if !known {
		since = now
	}
	c[node] = since
}

func poolsOf(v *capacity.View) map[string]*v1alpha1.NodePool {
	pools := make(map[string]*v1alpha1.NodePool, len(v.Pools))
	for _, p := range v.Pools {
		pools[p.Name] = p
	}
	return pools
}
