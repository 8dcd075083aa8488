package bench

import (
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/planner"
)

// BenchmarkGrowth is Muster alone on ever more pods.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("mixed/pods=%d", n), func(b *testing.B) { alone(b, mixed(1, n)) })
	}
	for _, of := range []string{"usual", "small", "large", "cores", "memory", "tailed", "few"} {
		for _, n := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/pods=%d", of, n), func(b *testing.B) { alone(b, named(of, n)) })
		}
	}
}

// BenchmarkResident is the most memory that was ever resident with the pods in a live view, a View of it and the plan. Pods
// come one by one, as a watch brings them, and nobody keeps their objects. Run one of them in a process.
func BenchmarkResident(b *testing.B) {
	for _, c := range []struct {
		name string
		pods iter.Seq[*corev1.Pod]
	}{
		{"pods=10000/mixed", slices.Values(mixed(1, 10_000))},
		{"pods=100000/usual", oneByOne("usual", 100_000)},
		{"pods=100000/tailed", oneByOne("tailed", 100_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			onOneCore(b)
			live := newMarket().live(c.pods)
			for b.Loop() {
				if plan := planner.Plan(live.View(), now); len(plan.Creates) == 0 {
					b.Fatal("nothing is bought")
				}
			}
			b.ReportMetric(resident(b), "resident-MiB")
			runtime.KeepAlive(live)
		})
	}
}

// oneByOne is resources-only pods of a distribution.
func oneByOne(distribution string, n int) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		m := newMaker(1)
		for _, d := range distributions {
			if d.name == distribution {
				m.size = d.of(m)
			}
		}
		for range n {
			if !yield(m.plain(1)[0]) {
				return
			}
		}
	}
}

// named is resources-only pods of a distribution.
func named(distribution string, n int) []*corev1.Pod {
	for i, d := range distributions {
		if d.name == distribution {
			return resourcesOnly(1, n, i)
		}
	}
	panic("no distribution " + distribution)
}

// alone plans with Muster only.
func alone(b *testing.B, pods []*corev1.Pod) {
	onOneCore(b)
	m := newMarket()
	elapsed := stopwatch()
	view := m.view(pods)
	viewed := elapsed()
	var s side
	for b.Loop() {
		times, err := pace{runs: 5, most: 5 * time.Second}.times(func() (time.Duration, error) {
			s.answer = m.muster(view, pods)
			return s.took, nil
		})
		if err != nil {
			b.Fatal(err)
		}
		s.took = median(times)
	}
	if s.wrong = m.check(s.answer, pods); s.wrong != nil {
		b.Errorf("the plan (in %v) is wrong: %v", s.took, s.wrong)
	}
	b.ReportMetric(0, "ns/op") // of all runs together: it says nothing
	b.ReportMetric(1000*s.took.Seconds(), "plan-ms")
	b.ReportMetric(1000*viewed.Seconds(), "view-ms")
	b.ReportMetric(float64(s.took.Nanoseconds())/float64(len(pods)), "ns/pod")
	b.ReportMetric(float64(len(s.machines)), "nodes")
	b.ReportMetric(m.cost(s.answer), "cost")
}

// resident is the most that this process ever had in memory, in MiB, as Linux counts it.
func resident(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				b.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	b.Fatal("no VmHWM in /proc/self/status")
	return 0
}
