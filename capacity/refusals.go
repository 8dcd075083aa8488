package capacity

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/util/sets"
)

// refused is an answer "no node". It is never changed.
type refused struct {
	offer   offer
	answers uint64 // Live.answers when it was given
	reasons map[string]Reason
	why     Reason           // the commonest
	missing sets.Set[string] // nodes that are there and were not offered
}

// offer stands for a set of node names, in any order: the scheduler's filters run in parallel, and the order in which
// nodes pass them changes from call to call.
type offer struct {
	count int
	sum   uint64
}

var offerSeed = maphash.MakeSeed()

func offerOf(nodes []string) offer {
	o := offer{count: len(nodes)}
	for _, name := range nodes {
		o.sum += maphash.String(offerSeed, name)
	}
	return o
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
