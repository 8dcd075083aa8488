package capacity

// opinion is what a node is to all pods with one signature, as long as the node itself does not change: pods that come
// and go change its room only.
type opinion struct {
	revision  uint64
	refused   *Reason // nil where the node admits them
	preferred int64   // sum of the weights of their preferred node affinity terms
	avoided   int     // PreferNoSchedule taints they do not tolerate
}

func newOpinion(a *Ask, e *entry) opinion {
	o := opinion{revision: e.revision}
	if v := Admits(a, &e.Node); !v.Fits {
		o.refused = &v.Reason
		return o
	}
	o.avoided = Avoided(a, e.Object.Spec.Taints)
	if a.preferred != nil {
		o.preferred = a.preferred.Score(e.Object)
	}
	return o
}

// opinions remembers them by signature, then by seat.
type opinions struct {
	bySignature map[string][]opinion
	count       int
}

// rememberedOpinions bounds the memory of opinions: 32 bytes each.
const rememberedOpinions = 200_000

func newOpinions() opinions { return opinions{bySignature: map[string][]opinion{}} }

// of returns the table of a signature with a row for every seat. A row counts only with the entry's revision.
func (c *opinions) of(a *Ask, seats int) []opinion {
	known := c.bySignature[a.Signature]
	if len(known) >= seats {
		return known
	}
	if c.count += seats - len(known); c.count > rememberedOpinions {
		clear(c.bySignature)
		c.count = seats
	}
	table := make([]opinion, seats)
	copy(table, known)
	c.bySignature[a.Signature] = table
	return table
}
