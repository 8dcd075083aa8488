package capacity

import "k8s.io/apimachinery/pkg/util/sets"

// refused is an answer "no node". It is never changed.
type refused struct {
	offer   offer
	answers uint64           // Live.answers when it was given
	reasons []Reason         // by seat; nodes that are not known have none
	why     Reason           // the commonest
	missing sets.Set[string] // nodes that are there and were not offered
}

// offer stands for a set of node names, in any order: the scheduler's filters run in parallel, and the order in which
// nodes pass them changes from call to call.
type offer struct {
	count int
	sum   uint64
}

// named lists the reason of each node offered, of the first MaxReasons.
func (r *refused) named(offered []*entry) []Reason {
	reasons := make([]Reason, min(len(offered), MaxReasons))
	for i := range reasons {
		if reasons[i].Code = CodeUnknownNode; offered[i] != nil {
			reasons[i] = r.reasons[offered[i].seat]
		}
	}
	return reasons
}

// refusals remembers refusals by what the pod asked for.
type refusals struct {
	bySignature map[string]*refused
	reasons     int // in all of them
}

// rememberedReasons bounds the memory of refusals: about 100 bytes each.
const rememberedReasons = 500_000

func newRefusals() refusals { return refusals{bySignature: map[string]*refused{}} }

// find returns the refusal of the same nodes to a pod that asked the same, if no node has changed since.
func (c *refusals) find(a *Ask, o offer, answers uint64) *refused {
	if r := c.bySignature[a.Signature]; r != nil && r.answers == answers && r.offer == o {
		return r
	}
	return nil
}

func (c *refusals) remember(a *Ask, r *refused) {
	if old := c.bySignature[a.Signature]; old != nil {
		c.reasons -= len(old.reasons) + len(old.missing)
	}
	if c.reasons += len(r.reasons) + len(r.missing); c.reasons > rememberedReasons || len(c.bySignature) >= rememberedAsks {
		clear(c.bySignature)
		c.reasons = len(r.reasons) + len(r.missing)
	}
	c.bySignature[a.Signature] = r
}
