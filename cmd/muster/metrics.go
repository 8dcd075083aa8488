package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/provider/gate"
)

// metrics are those of the loops; the extender has its own.
type metrics struct {
	passes    prometheus.Counter
	bought    prometheus.Counter
	cost      prometheus.Gauge
	least     prometheus.Gauge
	fates     *prometheus.GaugeVec
	machines  *prometheus.GaugeVec
	orphans   *prometheus.GaugeVec
	removed   *prometheus.CounterVec
	repaired  *prometheus.CounterVec
	restarted *prometheus.CounterVec
	gate      *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, live *capacity.Live) *metrics {
	m := &metrics{
		passes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_plan_passes_total", Help: "Plans made.",
		}),
		bought: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_machines_ordered_total", Help: "Claims created by the planner.",
		}),
		cost: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_plan_cost", Help: "Cost per hour of the machines that the last plan which bought any ordered.",
		}),
		least: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_plan_lower_bound", Help: "Cost per hour below which no plan could have carried the pods of these machines.",
		}),
		fates: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_shortfall_pods", Help: "Pods without room by what the last plan does for them.",
		}, []string{"fate"}),
		machines: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_provider_machines", Help: "Machines with our mark in the last complete listing.",
		}, []string{"provider"}),
		orphans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_provider_orphan_machines", Help: "Machines with our mark and without a claim, by how it stands with them.",
		}, []string{"provider", "standing"}),
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_provider_orphan_machines_removed_total", Help: "Machines without a claim that were removed and are proven gone.",
		}, []string{"provider"}),
		restarted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_nodes_restarted_total", Help: "Nodes whose machine was restarted because they were not ready for as long as their pool waits.",
		}, []string{"pool"}),
		repaired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_nodes_repaired_total", Help: "Nodes released because they were not ready for as long as their pool waits.",
		}, []string{"pool"}),
		gate: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gate_judgements_total", Help: "Judgements of the gate before acts that cannot be taken back, by act and by its answer: Permitted, or why not.",
		}, []string{"act", "answer"}),
	}
	r.MustRegister(m.passes, m.bought, m.cost, m.least, m.fates, m.machines, m.orphans, m.removed, m.repaired, m.restarted, m.gate, &claimStates{live: live},
		&brakesHeld{live: live}, &frozenPools{live: live}, &machineRoom{live: live})
	return m
}

func (m *metrics) observePass(p control.Pass) {
	m.passes.Inc()
	m.bought.Add(float64(p.Created))
	if p.Created > 0 {
		m.cost.Set(p.Cost)
		m.least.Set(p.LowerBound)
	}
	for _, fate := range []capacity.Fate{capacity.FitsNow, capacity.Waits, capacity.Ordered, capacity.Unserved} {
		m.fates.WithLabelValues(string(fate)).Set(float64(p.Fates[fate]))
	}
}

func (m *metrics) observeMachines(name string, all, _ int) {
	m.machines.WithLabelValues(name).Set(float64(all))
}

func (m *metrics) observeOrphans(name string, counts map[housekeeping.Standing]int) {
	for _, standing := range housekeeping.Standings {
		m.orphans.WithLabelValues(name, string(standing)).Set(float64(counts[standing]))
	}
}

func (m *metrics) observeGate(j control.Judgement) {
	m.gate.WithLabelValues(string(j.Act), j.Answer()).Inc()
}

func (m *metrics) nodeRepaired(pool string)  { m.repaired.WithLabelValues(pool).Inc() }
func (m *metrics) nodeRestarted(pool string) { m.restarted.WithLabelValues(pool).Inc() }

func (m *metrics) orphanRemoved(name string) { m.removed.WithLabelValues(name).Inc() }

// claimStates counts claims when it is scraped.
type claimStates struct{ live *capacity.Live }

var claimStatesDesc = prometheus.NewDesc("muster_claims", "NodeClaims by pool, provider and state.", []string{"pool", "provider", "state"}, nil)

// Describe implements prometheus.Collector.
func (c *claimStates) Describe(ch chan<- *prometheus.Desc) { ch <- claimStatesDesc }

// Collect implements prometheus.Collector.
func (c *claimStates) Collect(ch chan<- prometheus.Metric) {
	type key struct {
		pool, provider string
		state          v1alpha1.ClaimState
	}
	counts := map[key]int{}
	claims, _ := c.live.Claims()
	for _, claim := range claims {
		counts[key{claim.Spec.Pool, claim.Spec.Provider, claim.Status.State}]++
	}
	for k, n := range counts {
		ch <- prometheus.MustNewConstMetric(claimStatesDesc, prometheus.GaugeValue, float64(n), k.pool, k.provider, string(k.state))
	}
}

// brakesHeld counts open circuits and reservations when it is scraped.
type brakesHeld struct{ live *capacity.Live }

var (
	openCircuitsDesc = prometheus.NewDesc("muster_open_circuits",
		"Kinds of pods that a pool buys nothing but probes for, because its machines came up in vain.", []string{"pool"}, nil)
	reservedPodsDesc = prometheus.NewDesc("muster_reserved_pods", "Pods that room is kept for on nodes that exist.", nil, nil)
)

// Describe implements prometheus.Collector.
func (b *brakesHeld) Describe(ch chan<- *prometheus.Desc) {
	ch <- openCircuitsDesc
	ch <- reservedPodsDesc
}

// Collect implements prometheus.Collector.
func (b *brakesHeld) Collect(ch chan<- prometheus.Metric) {
	for pool, open := range b.live.OpenCircuits() {
		ch <- prometheus.MustNewConstMetric(openCircuitsDesc, prometheus.GaugeValue, float64(open), pool)
	}
	ch <- prometheus.MustNewConstMetric(reservedPodsDesc, prometheus.GaugeValue, float64(b.live.Reserving()))
}

// frozenPools says of each pool what people have stopped, when it is scraped.
type frozenPools struct{ live *capacity.Live }

var frozenDesc = prometheus.NewDesc("muster_frozen", "1 while the releases or the provisioning of a pool are frozen, or count as frozen.", []string{"what", "pool"}, nil)

// Describe implements prometheus.Collector.
func (f *frozenPools) Describe(ch chan<- *prometheus.Desc) { ch <- frozenDesc }

// Collect implements prometheus.Collector.
func (f *frozenPools) Collect(ch chan<- prometheus.Metric) {
	for pool, frozen := range f.live.FrozenPools() {
		for what, stopped := range map[string]bool{gate.FreezeReleases: frozen.Releases, gate.FreezeProvisioning: frozen.Provisioning} {
			value := 0.0
			if stopped {
				value = 1
			}
			ch <- prometheus.MustNewConstMetric(frozenDesc, prometheus.GaugeValue, value, what, pool)
		}
	}
}
