package extender

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
)

// Observation is one call and what was answered, for whoever records.
type Observation struct {
	Verb   string // place/filter, guard/preempt, …
	Number uint64 // in the order of arrival, over all verbs
	Pod    types.UID
	// Offered is how many nodes came with the call, Passed how many of them passed or were scored.
	Offered, Passed int
	// Node is the one that passed where only one may.
	Node string
	// Refused counts the others by reason; nil where all passed.
	Refused map[string]int
	// Error is why the call got no decision at all.
	Error string
	Took  time.Duration
}

// sees notes a call's pod and nodes; nothing happens where nobody observes.
func (o *Observation) sees(pod types.UID, offered int) {
	if o != nil {
		o.Pod, o.Offered = pod, offered
	}
}

func (o *Observation) fails(no *refusal) {
	if o != nil {
		o.Error = string(no.cause)
	}
}

// answers notes what a call was told. Neighbours mostly share a reason, so its text is made once for them.
func (o *Observation) answers(node string, passed int, refused []capacity.Reason) {
	if o == nil {
		return
	}
	o.Node, o.Passed = node, passed
	run := 0
	for i, reason := range refused {
		run++
		if i+1 < len(refused) && refused[i+1] == reason {
			continue
		}
		if reason != (capacity.Reason{}) {
			if o.Refused == nil {
				o.Refused = map[string]int{}
			}
			o.Refused[reason.String()] += run
		}
		run = 0
	}
}
