package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/capacity/shadow"
)

func joined(files []string) string { return strings.Join(files, ",") }

// shadowFigures shows a report's figures when it is scraped.
type shadowFigures struct{ report func() shadow.Report }

func shadowDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("muster_shadow_"+name, help, labels, nil)
}

var (
	shadowWaiting   = shadowDesc("waiting_pods", "Pods without room.")
	shadowMachines  = shadowDesc("machines", "Machines that would be there, or on their way.", "pool")
	shadowPaying    = shadowDesc("machines_cost", "Cost per hour of these machines.", "pool")
	shadowNodes     = shadowDesc("idle_nodes", "Nodes that would have been given back.", "pool")
	shadowWasting   = shadowDesc("idle_nodes_cost", "Cost per hour of these nodes.", "pool")
	shadowPurchases = shadowDesc("purchases_total", "Machines that would have been bought.", "pool")
	shadowReleases  = shadowDesc("releases_total", "Nodes that would have been given back, each time.", "pool")
	shadowCost      = shadowDesc("cost_total", "Cost of the machines that would have been bought, until they were no longer needed.", "pool")
	shadowSaved     = shadowDesc("saved_cost_total", "Cost of the nodes that would have been given back, until they were used again.", "pool")
	shadowHelped    = shadowDesc("wait_saved_seconds_total", "By how much pods would have had a node earlier, in sum.", "pool")
)

// Describe implements prometheus.Collector.
func (f *shadowFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		shadowWaiting, shadowMachines, shadowPaying, shadowNodes, shadowWasting, shadowPurchases, shadowReleases, shadowCost, shadowSaved, shadowHelped,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (f *shadowFigures) Collect(ch chan<- prometheus.Metric) {
	r := f.report()
	machines, paying, nodes, wasting := map[string]float64{}, map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, m := range r.Machines {
		machines[m.Pool]++
		paying[m.Pool] += m.Cost
	}
	for _, n := range r.Nodes {
		nodes[n.Pool]++
		wasting[n.Pool] += n.Cost
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	send(shadowWaiting, prometheus.GaugeValue, float64(r.WaitingPods))
	for _, pool := range slices.Sorted(maps.Keys(r.Pools)) {
		t := r.Pools[pool]
		send(shadowMachines, prometheus.GaugeValue, machines[pool], pool)
		send(shadowPaying, prometheus.GaugeValue, paying[pool], pool)
		send(shadowNodes, prometheus.GaugeValue, nodes[pool], pool)
		send(shadowWasting, prometheus.GaugeValue, wasting[pool], pool)
		send(shadowPurchases, prometheus.CounterValue, float64(t.Purchases), pool)
		send(shadowReleases, prometheus.CounterValue, float64(t.Releases), pool)
		send(shadowCost, prometheus.CounterValue, t.Cost, pool)
		send(shadowSaved, prometheus.CounterValue, t.Saved, pool)
		send(shadowHelped, prometheus.CounterValue, t.WaitSaved, pool)
	}
}
