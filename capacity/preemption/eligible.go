package preemption

import (
	"math"
	"strings"
	"time"

	"github.com/muster-sh/muster/capacity"
)

// patience is how long a pool that backs off, or that makes machines already, is waited for before pods die in its stead.
const patience = 5 * time.Minute

// Hopeless says whether no pool may grow for a pod that a plan left without a machine, so that only other pods can make
// room for it: there is no pool, every one is at a limit, or none has nodes that would take the pod. A pool that is held
// up for a while is waited for, and one that people have frozen for as long as they wish. Pods that cannot be judged are
// never hopeless, and those that did not take the machines bought for them would not take this room either.
func Hopeless(s *capacity.Shortfall, o capacity.Outcome, now time.Time) bool {
	if o.Fate != capacity.Unserved {
		return false
	}
	if len(o.Pools) == 0 {
		return o.Reason.Code == capacity.CodeNoPool
	}
	for _, p := range o.Pools {
		switch p.Reason.Code {
		case capacity.CodeBought, capacity.CodePoolFrozen:
			return false
		}
		if !final(p.Reason) && now.Sub(s.Since) < patience {
			return false
		}
	}
	return true
}

// Lowest is the lowest priority of the pods that could ever make room: who is not above it need not ask.
func Lowest(v *capacity.View) int32 {
	lowest := int32(math.MaxInt32)
	for _, pods := range v.Pods {
		for _, p := range pods {
			if p.Priority < lowest && !p.Resident() {
				lowest = p.Priority
			}
		}
	}
	return lowest
}

// final says whether a pool's reason will not pass by itself.
func final(r capacity.Reason) bool {
	switch r.Code {
	case capacity.CodePoolBackoff, capacity.CodePoolNotReady:
		return false
	case capacity.CodePoolLimit:
		return !strings.HasPrefix(r.Detail, "maxInFlight")
	}
	return true
}

// ineligible is why a pod may not have others evicted, whatever the nodes; the zero Reason when it may.
func ineligible(p *capacity.Pod, v *capacity.View) capacity.Reason {
	switch {
	case !v.Schedulers.Place.Has(p.Scheduler):
		return capacity.Reason{Code: capacity.CodeNotOurs}
	case p.NeverPreempts:
		return capacity.Reason{Code: capacity.CodePreemptNever}
	case p.Ask.Unjudged.Code != "":
		return p.Ask.Unjudged
	}
	return capacity.Reason{}
}
