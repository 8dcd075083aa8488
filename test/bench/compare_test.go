package bench

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// onOneCore keeps both planners on one core until the benchmark ends.
func onOneCore(b *testing.B) {
	before := runtime.GOMAXPROCS(1)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// BenchmarkMixed is Karpenter's own mix, solved by both.
func BenchmarkMixed(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) { compare(b, mixed(1, n)) })
	}
}

// BenchmarkResourcesOnly is pods that demand only room, in several distributions of their sizes.
func BenchmarkResourcesOnly(b *testing.B) {
	for i, of := range distributions {
		b.Run(fmt.Sprintf("sizes=%s/pods=1000", of.name), func(b *testing.B) { compare(b, resourcesOnly(1, 1000, i)) })
	}
}

func compare(b *testing.B, pods []*corev1.Pod) {
	onOneCore(b)
	m := newMarket()
	var d duel
	for b.Loop() {
		var err error
		if d, err = m.fight(pods, true); err != nil {
			b.Fatal(err)
		}
	}
	report(b, d)
}

func report(b *testing.B, d duel) {
	k, m := d.karpenter, d.muster
	b.ReportMetric(0, "ns/op") // of both together: it says nothing
	b.ReportMetric(d.speed(d.five), "karpenter-pods/s")
	b.ReportMetric(d.speed(k.took), "karpenter-one-worker-pods/s")
	b.ReportMetric(d.speed(m.took), "muster-pods/s")
	b.ReportMetric(d.five.Seconds()/m.took.Seconds(), "times-faster")
	b.ReportMetric(k.took.Seconds()/m.took.Seconds(), "times-faster-than-one-worker")
	b.ReportMetric(1000*d.viewed.Seconds(), "view-ms")
	b.ReportMetric(k.cost, "karpenter-cost")
	b.ReportMetric(m.cost, "muster-cost")
	b.ReportMetric(m.lowerBound, "lower-bound")
	b.ReportMetric(100*m.distance(), "%-above-bound")
	b.ReportMetric(float64(len(k.machines)), "karpenter-nodes")
	b.ReportMetric(float64(len(m.machines)), "muster-nodes")
	b.ReportMetric(float64(k.unserved), "karpenter-unserved")
	b.ReportMetric(float64(m.unserved), "muster-unserved")
	b.ReportMetric(float64(k.stuck), "karpenter-stuck")
	b.ReportMetric(float64(m.stuck), "muster-stuck")
	if m.wrong != nil {
		b.Errorf("Muster's plan is wrong: %v; in its %v it costs %.2f for %d machines, Karpenter's %.2f for %d (%v with one worker, %v with five)",
			m.wrong, m.took, m.cost, len(m.machines), k.cost, len(k.machines), k.took, d.five)
	}
}
