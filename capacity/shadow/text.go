package shadow

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// listed is how many rows of each table are written for people; JSON has them all.
const listed = 20

// WriteText writes a report for people.
func (r Report) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	t := r.Totals
	line("watched\t%s, since %s", span(r.At.Sub(r.Since)), r.Since.UTC().Format(time.RFC3339))
	line("would have bought\t%d machines: %.2f hours, cost %.2f", t.Purchases, t.MachineHours, t.Cost)
	line("would have saved\t%s of waiting, of %d pods", span(time.Duration(t.WaitSaved*float64(time.Second))), t.PodsHelped)
	line("would have released\t%d nodes: %.2f hours, cost %.2f", t.Releases, t.NodeHours, t.Saved)
	r.writeMachines(line)
	r.writeNodes(line)
	r.writeReplacements(line)
	r.writePods(line)
	return out.Flush()
}

func (r Report) writeMachines(line func(string, ...any)) {
	line("\nMachines that would be there now: %d", len(r.Machines))
	for i, m := range r.Machines {
		if i == 0 {
			line("MACHINE\tPOOL\tSHAPE\tCOST/H\tORDERED\tPODS\tWAITING")
		}
		if i == listed {
			line("and %d more", len(r.Machines)-i)
			break
		}
		wait := 0
		for _, p := range m.Pods {
			wait += btoi(p.waits())
		}
		state := fmt.Sprintf("%s ago, ready in %s", span(r.At.Sub(m.Ordered)), span(m.Ready.Sub(r.At)))
		if !m.Ready.After(r.At) {
			state = fmt.Sprintf("%s ago, ready since %s", span(r.At.Sub(m.Ordered)), span(r.At.Sub(m.Ready)))
		}
		line("%s\t%s\t%s\t%.2f\t%s\t%d\t%d", m.Name, m.Pool, m.Shape, m.Cost, state, len(m.Pods), wait)
	}
}

func (r Report) writeNodes(line func(string, ...any)) {
	line("\nNodes that would be gone now: %d", len(r.Nodes))
	for i, n := range r.Nodes {
		if i == 0 {
			line("NODE\tPOOL\tSHAPE\tCOST/H\tFOR\tWHY\tPODS TO MOVE")
		}
		if i == listed {
			line("and %d more", len(r.Nodes)-i)
			break
		}
		line("%s\t%s\t%s\t%.2f\t%s\t%s\t%d", n.Node, n.Pool, n.Shape, n.Cost, span(r.At.Sub(n.Since)), n.Reason, len(n.Pods))
	}
}

func (r Report) writeReplacements(line func(string, ...any)) {
	if len(r.Replacements) == 0 {
		return
	}
	line("\nReplacements that would be next: %d, and %d nodes in turn", len(r.Replacements), r.InTurn)
	for i, n := range r.Replacements {
		if i == 0 {
			line("NODES\tPOOL\tBY\tCOST/H\tINSTEAD OF\tWHY")
		}
		if i == listed {
			line("and %d more", len(r.Replacements)-i)
			break
		}
		why := n.Reason
		if n.Message != "" {
			why += " (" + n.Message + ")"
		}
		line("%s\t%s\t%s\t%.2f\t%.2f\t%s", strings.Join(n.Nodes, ","), n.Pool, strings.Join(n.Shapes, ","), n.Cost, n.Before, why)
	}
}

func (r Report) writePods(line func(string, ...any)) {
	line("\nPods without room now: %d", r.WaitingPods)
	for i, p := range r.Waiting {
		if i == 0 {
			line("POD\tWAITS\tWHAT IT WOULD BE TOLD")
		}
		if i == listed {
			line("and %d more", r.WaitingPods-i)
			break
		}
		told := strings.TrimSpace(p.Reason + ": " + p.Message)
		if p.Reason == "" {
			told = "nothing yet"
		}
		line("%s/%s\t%s\t%s", p.Namespace, p.Name, span(time.Duration(p.Waits*float64(time.Second))), told)
	}
}

// span is a duration in whole seconds.
func span(d time.Duration) string { return d.Round(time.Second).String() }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
