// Package page draws replays: one HTML file that needs no network and no other file. It decides nothing and computes
// nothing that a Summary or a Timeline does not hold.
package page

import (
	_ "embed" // the page's parts
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/muster-sh/muster/replay"
)

var (
	//go:embed page.html
	markup string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"span": replay.Span, "percent": func(part float64) string { return fmt.Sprintf("%.1f%%", part*100) },
}).Parse(markup))

// drawnLanes is how many policies have their machines drawn: those of more would make a file that browsers choke on.
const drawnLanes = 8

// Write draws a comparison, or a single replay as a comparison of one. Each timeline belongs to the policy at its index;
// a nil one has nothing to draw but its row in the table.
func Write(w io.Writer, title string, c replay.Comparison, lines []*replay.Timeline) error {
	v := view{
		Title: title, Style: template.CSS(style), Script: template.JS(script), //nolint:gosec // our own files
		Comparison: c, Energy: slices.ContainsFunc(c.Policies, func(o replay.Outcome) bool { return o.Machines.Energy > 0 }),
	}
	v.Data.Tradeoff, v.Data.Front, v.Data.Knee = string(c.Tradeoff), c.Front, c.Knee
	for i, o := range c.Policies {
		p := policy{Name: o.Name, Cost: o.Machines.Cost, Wait: c.Tradeoff.Of(o.Wait), Unserved: o.Pods.Unserved}
		if lines[i] != nil {
			p.draw(lines[i], i < drawnLanes || o.Name == c.Knee)
		}
		v.Data.Policies = append(v.Data.Policies, p)
	}
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	return nil
}

// view is what the template is filled with.
type view struct {
	Title      string
	Style      template.CSS
	Script     template.JS
	Comparison replay.Comparison
	Energy     bool
	Data       data
}

// Mark is how a policy stands to the others.
func (v view) Mark(o replay.Outcome) string {
	switch {
	case o.Interrupted:
		return "interrupted"
	case len(v.Comparison.Policies) < 2:
	case o.Name == v.Comparison.Knee:
		return "knee"
	case slices.Contains(v.Comparison.Front, o.Name):
		return "on the curve"
	}
	return ""
}
