package page

import (
	"time"

	"github.com/muster-sh/muster/replay"
)

// data is what the page's script reads: columns and short names, since there may be many rows. Times are seconds of the
// trace; an end of -1 is none yet.
type data struct {
	Tradeoff string   `json:"tradeoff"`
	Front    []string `json:"front"`
	Knee     string   `json:"knee"`
	Policies []policy `json:"policies"`
}

type policy struct {
	Name     string    `json:"name"`
	Cost     float64   `json:"cost"`
	Wait     float64   `json:"wait"`
	Unserved int       `json:"unserved"`
	Moments  moments   `json:"moments"`
	Waits    []float64 `json:"waits"`
	Lanes    []lane    `json:"lanes"`
	// HasLanes is false where machines were left out for the size of the page.
	HasLanes  bool `json:"hasLanes"`
	MoreLanes int  `json:"moreLanes"`
	MorePods  int  `json:"morePods"`
}

type moments struct {
	At      []float64 `json:"at"`
	Nodes   []int     `json:"nodes"`
	Waiting []int     `json:"waiting"`
	Bound   []int     `json:"bound"`
	Wanted  []float64 `json:"wanted"` // cores
	Room    []float64 `json:"room"`   // cores
}

type lane struct {
	Claim    string    `json:"claim"`
	Pool     string    `json:"pool"`
	Shape    string    `json:"shape"`
	For      []string  `json:"for"`
	ForCount int       `json:"forCount"`
	States   []stretch `json:"states"`
	Pods     []stretch `json:"pods"`
}

// stretch is a name, a beginning and an end.
type stretch [3]any

func (p *policy) draw(t *replay.Timeline, lanes bool) {
	p.Waits, p.HasLanes, p.MoreLanes, p.MorePods = t.Waits, lanes, t.MoreLanes, t.MorePods
	for _, m := range t.Moments {
		p.Moments.add(m)
	}
	if !lanes {
		return
	}
	for _, l := range t.Lanes {
		drawn := lane{Claim: l.Claim, Pool: l.Pool, Shape: l.Shape, For: l.For, ForCount: l.ForCount}
		for _, s := range l.States {
			drawn.States = append(drawn.States, stretchOf(s))
		}
		for _, s := range l.Pods {
			drawn.Pods = append(drawn.Pods, stretchOf(*s))
		}
		p.Lanes = append(p.Lanes, drawn)
	}
}

func (c *moments) add(m replay.Moment) {
	c.At = append(c.At, m.At.Round(time.Millisecond).Seconds())
	c.Nodes, c.Waiting, c.Bound = append(c.Nodes, m.Nodes), append(c.Waiting, m.Waiting), append(c.Bound, m.Bound)
	c.Wanted, c.Room = append(c.Wanted, float64(m.Wanted)/1000), append(c.Room, float64(m.Room)/1000)
}

func stretchOf(s replay.Stretch) stretch {
	to := -1.0
	if s.To >= 0 {
		to = s.To.Round(time.Millisecond).Seconds()
	}
	return stretch{s.Name, s.From.Round(time.Millisecond).Seconds(), to}
}
