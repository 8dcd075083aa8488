package shadow

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// replace takes in what the reaper would order for nodes that are to go, when it has looked for such; until it looks again, that
// stands. It returns what is new.
func (b *book) replace(v *capacity.View, d reaper.Decision, now time.Time) (fresh []Replacement) {
	before := b.replacements
	b.replacements = []Replacement{}
	for _, o := range d.Order {
		r := replacementOf(v, o, now)
		if i := slices.IndexFunc(before, r.same); i >= 0 {
			r.Since = before[i].Since
		} else {
			fresh = append(fresh, r)
		}
		b.replacements = append(b.replacements, r)
	}
	for _, r := range before {
		waits := !d.Looked && wait(v, d, r.Nodes)
		if r.Reason == string(reaper.Consolidated) {
			waits = !d.Weighed
		}
		if waits && !slices.ContainsFunc(b.replacements, r.same) && b.stand(v, r.Nodes) {
			b.replacements = append(b.replacements, r)
		}
	}
	if d.Looked || len(b.replacements) == 0 {
		b.inTurn = 0
		for _, why := range d.Reasons {
			b.inTurn += btoi(why == reaper.InTurn)
		}
	}
	return fresh
}

// wait says whether all of these nodes are still to go, and wait for the next look.
func wait(v *capacity.View, d reaper.Decision, nodes []string) bool {
	return !slices.ContainsFunc(v.Claims, func(c *capacity.Claim) bool {
		return slices.Contains(nodes, c.Node.Name) && d.Reasons[c.Object.Name] != reaper.Waiting
	})
}

// stand says whether all of these nodes are there, and none of them would have been given back.
func (b *book) stand(v *capacity.View, nodes []string) bool {
	return !slices.ContainsFunc(nodes, func(name string) bool {
		_, there := v.Seen[name]
		return !there || b.nodes[name] != nil
	})
}

func (r Replacement) same(o Replacement) bool {
	return r.Reason == o.Reason && slices.Equal(r.Nodes, o.Nodes) && slices.Equal(r.Shapes, o.Shapes)
}

func replacementOf(v *capacity.View, o reaper.Replacement, now time.Time) Replacement {
	r := Replacement{Reason: string(o.Reason), Message: o.Message, Since: now}
	for _, c := range o.Create {
		r.Pool, r.Shapes, r.Cost = c.Spec.Pool, append(r.Shapes, c.Spec.Shape), r.Cost+costOf(v, c)
	}
	for _, c := range o.Old {
		r.Nodes, r.Before = append(r.Nodes, c.Status.NodeName), r.Before+costOf(v, c)
	}
	slices.Sort(r.Nodes)
	return r
}
