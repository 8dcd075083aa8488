package main

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
)

// hostMetrics are those of bare-metal hosts.
type hostMetrics struct {
	calls  *prometheus.HistogramVec
	states *prometheus.GaugeVec
	events *prometheus.CounterVec
}

func newHostMetrics(r prometheus.Registerer) *hostMetrics {
	m := &hostMetrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_host_power_call_duration_seconds", Help: "Calls to BMCs and other power switches by operation and outcome.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 7),
		}, []string{"provider", "operation", "outcome"}),
		states: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_hosts", Help: "Hosts by state.",
		}, []string{"provider", "state"}),
	}
	m.events = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muster_host_events_total", Help: "What happened to hosts, by reason: powered on, released, quarantined, returned, and each fault.",
	}, []string{"provider", "reason"})
	r.MustRegister(m.calls, m.states, m.events)
	return m
}

func (m *hostMetrics) observeCall(provider string) func(string, host.Call, error, time.Duration) {
	return func(_ string, call host.Call, err error, took time.Duration) {
		how := outcome(err)
		if errors.Is(err, host.ErrNoShutdown) {
			how = "no_shutdown"
		}
		m.calls.WithLabelValues(provider, string(call), how).Observe(took.Seconds())
	}
}

func (m *hostMetrics) observeStates(provider string) func(map[v1alpha1.HostState]int) {
	return func(counts map[v1alpha1.HostState]int) {
		for state, n := range counts {
			m.states.WithLabelValues(provider, string(state)).Set(float64(n))
		}
	}
}
