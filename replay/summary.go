package replay

import (
	"math"
	"slices"

	"github.com/muster-sh/muster/capacity"
)

// Schema names the form of a Summary in JSON. It changes when a field changes its meaning or goes; new fields may come.
const Schema = "muster.sh/replay/v1"

// Summary is what a replay shows. docs/replay.md describes every field.
type Summary struct {
	Schema string `json:"schema"`
	Seed   int64  `json:"seed"`
	// Start and End are seconds of the trace.
	Start float64 `json:"start_s"`
	End   float64 `json:"end_s"`
	// Interrupted is set when the replay was stopped before its end.
	Interrupted bool `json:"interrupted"`

	Pods        Pods        `json:"pods"`
	Wait        Wait        `json:"wait_s"`
	Machines    Machines    `json:"machines"`
	Utilisation Utilisation `json:"utilisation"`
	Purchases   []Purchase  `json:"purchases"`
	Scheduler   Attempts    `json:"scheduler"`
}

// Pods counts arrivals by what became of them: arrived = finished + left + running + waiting.
type Pods struct {
	Arrived  int `json:"arrived"`
	Finished int `json:"finished"`
	Left     int `json:"left"`
	Running  int `json:"running"`
	Waiting  int `json:"waiting"`
	// Unserved never had a node: they wait still, or left before.
	Unserved int `json:"unserved"`
	// Restarted counts pods that were made again because they lost their node.
	Restarted int `json:"restarted"`
	// Evicted counts what Muster asked to leave its node: for a more important pod, or for the node's release.
	Evicted int `json:"evicted"`
	// NotJudged asked for devices, which a replay does not know, and never had a node for that.
	NotJudged int `json:"not_judged,omitempty"`
	// Why counts the pods that wait at the end by the reason of their muster.sh/Capacity condition.
	Why map[string]int `json:"waiting_reasons"`
}

// Wait is the time from a pod's arrival to its binding, in seconds, over the pods that were bound.
type Wait struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Machines counts what was bought: bought = released + left.
type Machines struct {
	Bought   int `json:"bought"`
	Released int `json:"released"`
	Left     int `json:"left"`
	// Wasted machines never carried a pod, those of DaemonSets aside.
	Wasted int `json:"wasted"`
	// Hours from creation to end, NodeHours while a Node was registered, Cost of the former.
	Hours     float64 `json:"machine_hours"`
	NodeHours float64 `json:"node_hours"`
	Cost      float64 `json:"cost"`
	// Rebought machines were bought within RebuyWindow after their pool gave one back: their release did not pay.
	Rebought int `json:"rebought"`
	// Energy is machine hours times the shape's watts, in kWh; 0 where no shape has any.
	Energy float64 `json:"energy_kwh"`
	// PeakNodes is the most Nodes of bought machines at once.
	PeakNodes int `json:"peak_nodes"`
}

// Utilisation is what pods asked for as a part of what the bought nodes offered, over time, from 0 to 1.
type Utilisation struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// Purchase sums up the machines of one pool and shape.
type Purchase struct {
	Pool     string  `json:"pool"`
	Shape    string  `json:"shape"`
	Machines int     `json:"machines"`
	Hours    float64 `json:"machine_hours"`
	Cost     float64 `json:"cost"`
}

// Attempts counts the scheduler's work.
type Attempts struct {
	Attempts    int `json:"attempts"`
	FilterCalls int `json:"filter_calls"`
	Errors      int `json:"errors"`
}

// Summary sums up the world as it stands.
func (w *World) Summary() Summary {
	m := w.meter
	m.settle()
	for _, c := range w.backends.clouds() {
		for _, machine := range c.List(w.agenda.now) {
			m.saw(machine) // those whose creation was never answered
		}
	}
	s := Summary{
		Schema: Schema, Seed: w.options.Seed, Start: w.start.Sub(Zero).Seconds(), End: w.agenda.now.Sub(Zero).Seconds(),
		Pods: Pods{
			Arrived:  w.pods.arrived,
			Finished: m.states[lifeDone], Left: m.states[lifeLeft], Running: m.states[lifeRuns], Waiting: m.states[lifeWaits],
			Unserved: m.never + w.neverPlaced(), Restarted: w.pods.again, Evicted: w.pods.evicted,
			NotJudged: len(w.scheduler.unjudged), Why: w.waitingReasons(),
		},
		Wait:      waitOf(m.waits),
		Scheduler: Attempts{Attempts: w.scheduler.attempts, FilterCalls: w.scheduler.calls, Errors: w.scheduler.errors},
		Utilisation: Utilisation{
			CPU: ratio(m.totals.cpuUsed, m.totals.cpu), Memory: ratio(m.totals.memoryUsed, m.totals.memory),
		},
	}
	s.Machines, s.Purchases = m.bill(w.agenda.now)
	return s
}

func (w *World) neverPlaced() int {
	count := 0
	for _, l := range w.pods.lives {
		if l.state == lifeWaits && l.placed.IsZero() {
			count++
		}
	}
	return count
}

// waitingReasons reads what the pods that wait were told; those that were not yet are counted as Pending.
func (w *World) waitingReasons() map[string]int {
	why := map[string]int{}
	for uid, l := range w.pods.lives {
		if l.state != lifeWaits {
			continue
		}
		reason := "Pending"
		if p := w.api.pods[uid]; p != nil {
			if told := capacity.PodOf(p).Capacity; told != nil {
				reason = told.Reason
			}
		}
		why[reason]++
	}
	return why
}

func waitOf(waits []float64) Wait {
	if len(waits) == 0 {
		return Wait{}
	}
	sorted := slices.Sorted(slices.Values(waits))
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	return Wait{
		P50: percentile(sorted, 50), P90: percentile(sorted, 90), P99: percentile(sorted, 99),
		Max: round(sorted[len(sorted)-1]), Mean: round(sum / float64(len(sorted))),
	}
}

// percentile is the nearest rank: the smallest value that p percent of all do not exceed.
func percentile(sorted []float64, p int) float64 {
	rank := (len(sorted)*p + 99) / 100
	return round(sorted[max(rank, 1)-1])
}

// round keeps a thousandth, so that sums of floating point read alike.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }

func ratio(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(part/whole*10_000) / 10_000
}
