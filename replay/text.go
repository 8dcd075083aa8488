package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText writes a summary for people.
func (s Summary) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(out, name+"\t"+format+"\n", args...) }
	if s.Interrupted {
		fmt.Fprintln(out, "interrupted: what follows is what was seen until then")
	}
	line("time", "%s of the trace, from %.0f s", Span(s.End-s.Start), s.Start)
	line("pods", "%d arrived: %d finished, %d left, %d running, %d waiting", s.Pods.Arrived, s.Pods.Finished, s.Pods.Left,
		s.Pods.Running, s.Pods.Waiting)
	line("unserved", "%d never had a node%s", s.Pods.Unserved, reasons(s.Pods.Why))
	if s.Pods.NotJudged > 0 {
		line("not judged", "%d %s", s.Pods.NotJudged, wantDevices)
	}
	line("wait", "p50 %s, p90 %s, p99 %s, max %s", Span(s.Wait.P50), Span(s.Wait.P90), Span(s.Wait.P99), Span(s.Wait.Max))
	line("machines", "%d bought: %d released, %d left; %d never carried a pod; at most %d nodes at once", s.Machines.Bought,
		s.Machines.Released, s.Machines.Left, s.Machines.Wasted, s.Machines.PeakNodes)
	line("hours", "%.2f of machines, %.2f of nodes", s.Machines.Hours, s.Machines.NodeHours)
	line("cost", "%.2f", s.Machines.Cost)
	if s.Machines.Energy > 0 {
		line("energy", "%.2f kWh", s.Machines.Energy)
	}
	line("churn", "%d pods evicted, %d machines bought again within ten minutes of a release", s.Pods.Evicted, s.Machines.Rebought)
	line("utilisation", "cpu %.1f%%, memory %.1f%%", s.Utilisation.CPU*100, s.Utilisation.Memory*100)
	line("scheduler", "%d attempts, %d filter calls, %d errors", s.Scheduler.Attempts, s.Scheduler.FilterCalls, s.Scheduler.Errors)
	if len(s.Purchases) > 0 {
		fmt.Fprintln(out)
		fmt.Fprintln(out, "pool\tshape\tmachines\thours\tcost")
	}
	for _, p := range s.Purchases {
		fmt.Fprintf(out, "%s\t%s\t%d\t%.2f\t%.2f\n", p.Pool, p.Shape, p.Machines, p.Hours, p.Cost)
	}
	return out.Flush()
}

func reasons(why map[string]int) string {
	if len(why) == 0 {
		return ""
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, why[reason]))
	}
	return "; waiting for: " + strings.Join(parts, ", ")
}

// Span writes seconds as people do: in the largest units that matter.
func Span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return d.Round(time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}
