package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// verdicts keep what the reaper last said of each node: why it stays, or why it goes. A replica that does not lead has none.
type verdicts struct {
	mu   sync.Mutex
	last []verdict
}

// verdict is what was said of one machine.
type verdict struct {
	pool, claim, node string
	reason            reaper.Reason
	detail            string
}

// hear is a control.Reaper.Observe.
func (n *verdicts) hear(v *capacity.View, d reaper.Decision) {
	all := make([]verdict, 0, len(v.Claims))
	for _, c := range v.Claims {
		name := c.Object.Name
		all = append(all, verdict{c.Object.Spec.Pool, name, c.Object.Status.NodeName, d.Reasons[name], d.Details[name]})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = all
}

func (n *verdicts) heard() []verdict {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// ServeHTTP lists the machines by pool and name, one a line.
func (n *verdicts) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	all := slices.Clone(n.heard())
	slices.SortFunc(all, func(a, b verdict) int { return cmp.Or(cmp.Compare(a.pool, b.pool), strings.Compare(a.claim, b.claim)) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "POOL\tCLAIM\tNODE\tREASON\tDETAIL")
	for _, v := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", v.pool, v.claim, cmp.Or(v.node, "-"), v.reason, cmp.Or(v.detail, "-"))
	}
	_ = table.Flush() // whoever asked has gone
}

var verdictsDesc = prometheus.NewDesc("muster_release_nodes",
	"Machines of a pool by what the last decision about releases said of them: why they stay, or why they go.", []string{"pool", "reason"}, nil)

// Describe implements prometheus.Collector.
func (n *verdicts) Describe(ch chan<- *prometheus.Desc) { ch <- verdictsDesc }

// Collect implements prometheus.Collector.
func (n *verdicts) Collect(ch chan<- prometheus.Metric) {
	type key struct {
		pool   string
		reason reaper.Reason
	}
	counts := map[key]int{}
	for _, v := range n.heard() {
		counts[key{v.pool, v.reason}]++
	}
	for k, count := range counts {
		ch <- prometheus.MustNewConstMetric(verdictsDesc, prometheus.GaugeValue, float64(count), k.pool, string(k.reason))
	}
}
