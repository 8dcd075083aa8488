package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Status is where a world stands, in a few numbers.
type Status struct {
	At                                  time.Duration // from Zero
	Arrived, Finished, Running, Waiting int
	Nodes, Claims                       int
}

// Status is cheap enough to be asked for after every step.
func (w *World) Status() Status {
	m := w.meter
	return Status{
		At: w.agenda.now.Sub(Zero), Arrived: w.pods.arrived, Finished: m.states[lifeDone] + m.states[lifeLeft],
		Running: m.states[lifeRuns], Waiting: m.states[lifeWaits], Nodes: len(w.api.nodes), Claims: len(w.api.claims),
	}
}

// NodeStatus is one machine in a picture of the world, from its order to its end.
type NodeStatus struct {
	Claim string
	Pool  string
	Shape string
	Node  string // empty while it has none
	State v1alpha1.ClaimState
	Pods  []string // names, of pods that are no DaemonSet's
	// CPU is what the pods ask for as a part of what the node offers, from 0 to 1.
	CPU float64
}

// Machines are all claims, by name.
func (w *World) Machines() []NodeStatus {
	var all []NodeStatus
	for _, name := range sortedKeys(w.api.claims) {
		c := w.api.claims[name]
		s := NodeStatus{Claim: name, Pool: c.Spec.Pool, Shape: c.Spec.Shape, Node: c.Status.NodeName, State: c.Status.State}
		if s.State == "" {
			s.State = v1alpha1.ClaimPending
		}
		w.fill(&s)
		all = append(all, s)
	}
	return all
}

func (w *World) fill(s *NodeStatus) {
	n := w.api.nodes[s.Node]
	if n == nil {
		return
	}
	used := int64(0)
	for _, p := range w.api.podsOn(s.Node) {
		u, counted := w.meter.usage[p.UID]
		if !counted {
			continue
		}
		used += u.take.MilliCPU
		if w.pods.lives[p.UID] != nil {
			s.Pods = append(s.Pods, p.Name)
		}
	}
	if cpu := n.Status.Allocatable[corev1.ResourceCPU]; cpu.MilliValue() > 0 {
		s.CPU = float64(used) / float64(cpu.MilliValue())
	}
}

// Ends is what a story must have come to: every pod served and gone, no machine but the pools' minimum, and nothing that
// belongs to nobody. It names the first thing that is otherwise; empty means all is well.
func (w *World) Ends() string {
	s := w.Summary()
	minimum := 0
	for _, p := range w.api.pools {
		minimum += int(p.Spec.Limits.MinNodes)
	}
	machines := 0
	for _, c := range w.backends.clouds() {
		machines += len(c.List(w.agenda.now))
	}
	return firstOf(
		told(s.Pods.Unserved > 0, "%d pods never had a node", s.Pods.Unserved),
		told(s.Pods.Waiting+s.Pods.Running > 0, "%d pods are still there", s.Pods.Waiting+s.Pods.Running),
		told(machines > minimum, "%d machines are left, the minimum is %d", machines, minimum),
		told(len(w.api.claims) != machines, "%d claims for %d machines", len(w.api.claims), machines),
		told(len(w.meter.nodes) != machines, "%d nodes for %d machines", len(w.meter.nodes), machines),
	)
}

func told(wrong bool, format string, args ...any) string {
	if !wrong {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func firstOf(problems ...string) string {
	for _, p := range problems {
		if p != "" {
			return p
		}
	}
	return ""
}

func sortedKeys[K cmp.Ordered, T any](m map[K]T) []K { return slices.Sorted(maps.Keys(m)) }
