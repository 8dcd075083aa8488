package replay

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// ComparisonSchema names the form of a Comparison in JSON, with the same promise as Schema.
const ComparisonSchema = "muster.sh/replay-comparison/v1"

// Comparison is what the same pods met under several policies. docs/replay.md describes every field.
type Comparison struct {
	Schema   string    `json:"schema"`
	Policies []Outcome `json:"policies"`
	// Tradeoff is by which figure of the wait the policies are set against cost.
	Tradeoff WaitFigure `json:"tradeoff"`
	// Front are the policies that none of the others beats in waiting and cost at once, from the cheapest on.
	Front []string `json:"front"`
	// Knee is the policy of the front past which waiting less costs more than it saved before; empty where the front is
	// too short to bend.
	Knee string `json:"knee,omitempty"`
}

// Outcome is what came of one policy.
type Outcome struct {
	Name string `json:"name"`
	// Settings are the fields that a sweep set, by path.
	Settings map[string]string `json:"settings,omitempty"`
	Summary
}

// WaitFigure names a figure of a Wait.
type WaitFigure string

// The figures of a Wait.
const (
	WaitMean WaitFigure = "mean"
	WaitP50  WaitFigure = "p50"
	WaitP90  WaitFigure = "p90"
	WaitP99  WaitFigure = "p99"
	WaitMax  WaitFigure = "max"
)

// WaitFigures are all of them.
var WaitFigures = []WaitFigure{WaitMean, WaitP50, WaitP90, WaitP99, WaitMax}

// Of is the figure, in seconds.
func (f WaitFigure) Of(w Wait) float64 {
	switch f {
	case WaitP50:
		return w.P50
	case WaitP90:
		return w.P90
	case WaitP99:
		return w.P99
	case WaitMax:
		return w.Max
	}
	return w.Mean
}

// Compare sets policies side by side.
func Compare(outcomes []Outcome, figure WaitFigure) Comparison {
	c := Comparison{Schema: ComparisonSchema, Policies: outcomes, Tradeoff: figure, Front: []string{}}
	front := frontOf(outcomes, figure)
	for _, o := range front {
		c.Front = append(c.Front, o.Name)
	}
	if knee := kneeOf(front, figure); knee != nil {
		c.Knee = knee.Name
	}
	return c
}

// frontOf are the outcomes that no other beats, from the cheapest to the one that waits least. An outcome that left more
// pods without a node is no rival of one that served them, however cheap: only those that served the most are looked at.
func frontOf(outcomes []Outcome, figure WaitFigure) []*Outcome {
	var front []*Outcome
	fewest := -1
	for i := range outcomes {
		o := &outcomes[i]
		if o.Interrupted {
			continue
		}
		if fewest < 0 || o.Pods.Unserved < fewest {
			fewest, front = o.Pods.Unserved, nil
		}
		if o.Pods.Unserved == fewest {
			front = append(front, o)
		}
	}
	slices.SortStableFunc(front, func(a, b *Outcome) int {
		return cmp.Or(cmp.Compare(a.Machines.Cost, b.Machines.Cost), cmp.Compare(figure.Of(a.Wait), figure.Of(b.Wait)))
	})
	kept := front[:0]
	for _, o := range front {
		if n := len(kept); n == 0 || figure.Of(o.Wait) < figure.Of(kept[n-1].Wait) {
			kept = append(kept, o)
		}
	}
	return kept
}

// kneeOf is the point of the front that lies farthest below the straight line between its ends, both axes scaled to the
// front's own extent: the knee of Satopää and others, "Finding a Kneedle in a Haystack" (2011), for a curve of few points.
func kneeOf(front []*Outcome, figure WaitFigure) *Outcome {
	if len(front) < 3 {
		return nil
	}
	first, last := front[0], front[len(front)-1]
	cost, wait := last.Machines.Cost-first.Machines.Cost, figure.Of(first.Wait)-figure.Of(last.Wait)
	var knee *Outcome
	farthest := 0.0
	for _, o := range front[1 : len(front)-1] {
		x := (o.Machines.Cost - first.Machines.Cost) / cost
		y := (figure.Of(o.Wait) - figure.Of(last.Wait)) / wait
		if below := 1 - x - y; below > farthest {
			knee, farthest = o, below
		}
	}
	return knee
}

// WriteText writes a comparison for people: a row for each policy.
func (c Comparison) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	energy := slices.ContainsFunc(c.Policies, func(o Outcome) bool { return o.Machines.Energy > 0 })
	head := "wait p50\tp90\tp99\tmax\tmean\tunserved\tnode-hours\tcost\t"
	if energy {
		head += "kWh\t"
	}
	fmt.Fprintln(out, head+"cpu\tmemory\tbought\treleased\twasted\tevicted\trebought\t  policy")
	for _, o := range c.Policies {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%d\t%.1f\t%.2f\t", Span(o.Wait.P50), Span(o.Wait.P90), Span(o.Wait.P99),
			Span(o.Wait.Max), Span(o.Wait.Mean), o.Pods.Unserved, o.Machines.NodeHours, o.Machines.Cost)
		if energy {
			fmt.Fprintf(out, "%.1f\t", o.Machines.Energy)
		}
		m := o.Machines
		fmt.Fprintf(out, "%.1f%%\t%.1f%%\t%d\t%d\t%d\t%d\t%d\t  %s\n", o.Utilisation.CPU*100, o.Utilisation.Memory*100, m.Bought,
			m.Released, m.Wasted, o.Pods.Evicted, m.Rebought, o.Name+c.mark(o))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return c.explain(w)
}

func (c Comparison) mark(o Outcome) string {
	switch {
	case o.Interrupted:
		return " (interrupted)"
	case o.Name == c.Knee:
		return " **"
	case len(c.Policies) > 1 && slices.Contains(c.Front, o.Name):
		return " *"
	}
	return ""
}

// NotJudged says of how many pods a replay cannot tell what a policy would have done for them, and why; empty without any.
func (c Comparison) NotJudged() string {
	most := 0
	for _, o := range c.Policies {
		most = max(most, o.Pods.NotJudged)
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf("not judged: %d pods %s", most, wantDevices)
}

func (c Comparison) explain(w io.Writer) error {
	text := ""
	if not := c.NotJudged(); not != "" {
		text = "\n" + not + "\n"
	}
	if len(c.Policies) < 2 {
		_, err := io.WriteString(w, text)
		return err
	}
	text += fmt.Sprintf("\n*  no other policy serves as many pods, is cheaper and has a shorter %s wait\n", c.Tradeoff)
	if c.Knee != "" {
		text += "** the knee: from here on, waiting less costs more\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
