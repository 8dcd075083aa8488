package bench

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// duel is both planners on the same pods.
type duel struct {
	pods              int
	karpenter, muster side
	// five is how long Karpenter takes with the five workers of its own benchmark.
	five time.Duration
	// viewed is how long Muster takes to build its view from nothing.
	viewed time.Duration
}

// side is one planner's part.
type side struct {
	answer
	cost  float64
	wrong error // what the checker found
	stuck int   // pods that would not be bound in the order of their creation
}

// pace bounds how often a run is repeated for its median time.
type pace struct {
	runs int
	most time.Duration
}

// times runs something again and again and sorts how long it took.
func (p pace) times(run func() (time.Duration, error)) ([]time.Duration, error) {
	var all []time.Duration
	for spent := time.Duration(0); len(all) == 0 || len(all) < p.runs && spent < p.most; {
		took, err := run()
		if err != nil {
			return nil, err
		}
		all, spent = append(all, took), spent+took
	}
	slices.Sort(all)
	return all, nil
}

func median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }

// fight solves the pods with both. Karpenter's answers differ from run to run; the cheapest counts.
func (m *market) fight(pods []*corev1.Pod, five bool) (duel, error) {
	d := duel{pods: len(pods)}
	if err := d.runKarpenter(m, pods, five); err != nil {
		return d, fmt.Errorf("karpenter: %w", err)
	}
	elapsed := stopwatch()
	view := m.view(pods)
	d.viewed = elapsed()
	times, err := pace{runs: 9, most: 2 * time.Second}.times(func() (time.Duration, error) {
		d.muster.answer = m.muster(view, pods)
		return d.muster.took, nil
	})
	d.muster.took = median(times)
	d.muster.judge(m, pods)
	d.karpenter.judge(m, pods)
	return d, err
}

func (d *duel) runKarpenter(m *market, pods []*corev1.Pod, five bool) error {
	best := answer{}
	run := func(workers int) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			a, err := m.karpenter(pods, workers)
			if best.machines == nil || a.unserved < best.unserved || a.unserved == best.unserved && m.cost(a) < m.cost(best) {
				best = a
			}
			return a.took, err
		}
	}
	usual := pace{runs: 3, most: 10 * time.Second}
	times, err := usual.times(run(oneCore))
	if err != nil {
		return err
	}
	took := median(times)
	if five {
		if times, err = usual.times(run(itsBenchmark)); err != nil {
			return err
		}
		d.five = median(times)
	}
	d.karpenter.answer = best
	d.karpenter.took = took
	return nil
}

func (s *side) judge(m *market, pods []*corev1.Pod) {
	s.cost, s.wrong, s.stuck = m.cost(s.answer), m.check(s.answer, pods), stuckAsCreated(s.answer, pods)
}

// speed is in pods per second.
func (d duel) speed(took time.Duration) float64 { return float64(d.pods) / took.Seconds() }

// distance is by how much the cost is above the lower bound, as a share of the bound.
func (s side) distance() float64 { return s.cost/s.lowerBound - 1 }
