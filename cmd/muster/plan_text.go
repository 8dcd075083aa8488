package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
)

// text is the plan for people: machines that are alike share a line.
func (r planReport) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "Pods that wait for a node: %d (fit already: %d, machine on its way: %d, machine to buy: %d, no pool: %d)\n",
		r.Summary.Pods, r.Summary.FitsNow, r.Summary.Waits, r.Summary.Ordered, r.Summary.Unserved)
	r.writeMachines(&out)
	r.writePlaces(&out, "On machines that were ordered before:", "MACHINE", capacity.Waits, func(p planPod) string { return p.Claim })
	r.writePlaces(&out, "Fit already:", "NODE", capacity.FitsNow, func(p planPod) string { return p.Node })
	r.writeUnserved(&out)
	if s := r.Summary.PlanAgainSeconds; s > 0 {
		fmt.Fprintf(&out, "\nA back-off ends in %.0f s; Muster plans again then.\n", s)
	}
	if len(r.Notes) > 0 {
		out.WriteString("\n")
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "Note: %s\n", note)
	}
	return out.String()
}

func table(out *strings.Builder, header string, lines []string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	_ = w.Flush() // a strings.Builder takes everything
}

func (r planReport) writeMachines(out *strings.Builder) {
	if len(r.Machines) == 0 {
		out.WriteString("\nNothing to buy.\n")
		return
	}
	fmt.Fprintf(out, "\nMachines to buy: %d, %s per hour (no plan could cost less than %s)\n\n",
		r.Summary.Machines, money(r.Summary.CostPerHour), money(r.Summary.LowerBound))
	counts := map[string]int{}
	var order []string
	for _, m := range r.Machines {
		line := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", m.Pool, m.Shape, m.Resources["cpu"], m.Resources["memory"],
			money(m.CostPerHour), m.used(), m.workloads)
		if counts[line] == 0 {
			order = append(order, line)
		}
		counts[line]++
	}
	lines := make([]string, 0, len(order))
	for _, line := range order {
		lines = append(lines, fmt.Sprintf("%d\t%s", counts[line], line))
	}
	table(out, "COUNT\tPOOL\tSHAPE\tCPU\tMEMORY\tPER HOUR\tUSE\tPODS ON EACH", lines)
}

// used is the use of cpu, memory and every extended resource.
func (m planMachine) used() string {
	text := fmt.Sprintf("cpu %.0f%%, memory %.0f%%", 100*m.Use["cpu"], 100*m.Use["memory"])
	for _, name := range slices.Sorted(maps.Keys(m.Use)) {
		if strings.Contains(name, "/") {
			text += fmt.Sprintf(", %s %.0f%%", name, 100*m.Use[name])
		}
	}
	return text
}

// writePlaces lists the places that carry pods of one fate.
func (r planReport) writePlaces(out *strings.Builder, title, header string, fate capacity.Fate, place func(planPod) string) {
	at := map[string][]string{}
	for _, p := range r.Pods {
		if p.Fate == fate {
			at[place(p)] = append(at[place(p)], p.workload)
		}
	}
	if len(at) == 0 {
		return
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(at)) {
		lines = append(lines, name+"\t"+tally(at[name]))
	}
	fmt.Fprintf(out, "\n%s\n\n", title)
	table(out, header+"\tPODS", lines)
}

// writeUnserved groups pods that are left for the same reasons.
func (r planReport) writeUnserved(out *strings.Builder) {
	if r.Summary.Unserved == 0 {
		return
	}
	why := map[string][]string{}
	for _, p := range r.Pods {
		if p.Fate != capacity.Unserved {
			continue
		}
		text := "  " + p.Message + "\n"
		if len(p.Pools) > 0 {
			text = ""
			for _, pool := range p.Pools {
				text += fmt.Sprintf("  pool %s: %s\n", pool.Pool, pool.Message)
			}
		}
		why[text] = append(why[text], p.workload)
	}
	out.WriteString("\nNo pool can take:\n")
	for _, text := range slices.SortedFunc(maps.Keys(why), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(why[b]), len(why[a])), strings.Compare(a, b))
	}) {
		fmt.Fprintf(out, "\n%s\n%s", tally(why[text]), text)
	}
}

func money(v float64) string { return fmt.Sprintf("%.3f", v) }

func crowd(pods []*capacity.Pod, workloads map[types.UID]string) string {
	names := make([]string, 0, len(pods))
	for _, p := range pods {
		names = append(names, workloads[p.UID])
	}
	return tally(names)
}

// mostNames is how many workloads a line names.
const mostNames = 6

// tally counts equal names: 3 default/web, 1 default/db. The most frequent come first.
func tally(names []string) string {
	counts := map[string]int{}
	for _, name := range names {
		counts[name]++
	}
	order := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var parts []string
	rest := len(names)
	for _, name := range order[:min(len(order), mostNames)] {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
		rest -= counts[name]
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return cmp.Or(strings.Join(parts, ", "), "none: keeps the pool's minimum")
}
