package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/kube"
)

// preemptionsPerPass bounds how many pods have others evicted within a second.
const preemptionsPerPass = 20

func newPreemptor(p *program, cluster *kube.Cluster, teller *control.Teller, gate *control.Gate) *control.Preemptor {
	if !p.flags.preemption {
		return nil
	}
	return &control.Preemptor{
		Live: p.live, Kube: cluster, Teller: teller, Gate: gate, Log: p.log, Most: preemptionsPerPass, Settled: p.settled,
		Observe: newPreemptionMetrics(p.metrics).observe,
	}
}

// preemptionMetrics count what becomes of preemptions.
type preemptionMetrics struct {
	preemptions *prometheus.CounterVec
	victims     prometheus.Counter
}

func newPreemptionMetrics(r prometheus.Registerer) *preemptionMetrics {
	m := &preemptionMetrics{
		preemptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_preemptions_total",
			Help: "Preemptions by outcome: started or blocked; a started one ends as placed, stuck or vain.",
		}, []string{"outcome"}),
		victims: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_preemption_victims_total", Help: "Pods evicted to make room for pods of higher priority.",
		}),
	}
	r.MustRegister(m.preemptions, m.victims)
	return m
}

func (m *preemptionMetrics) observe(outcome control.PreemptionOutcome, victims int) {
	m.preemptions.WithLabelValues(string(outcome)).Inc()
	m.victims.Add(float64(victims))
}
