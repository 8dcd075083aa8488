package main

import (
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

// planReport is the answer of `muster plan --output json`. docs/plan.md describes it; fields are added, never renamed.
type planReport struct {
	Version  int           `json:"version"`
	Summary  planSummary   `json:"summary"`
	Machines []planMachine `json:"machines"`
	Reserved []planReserve `json:"reserved"`
	Pods     []planPod     `json:"pods"`
	Notes    []string      `json:"notes"`
}

type planSummary struct {
	Pods     int `json:"pods"`
	FitsNow  int `json:"fitsNow"`
	Waits    int `json:"waits"`
	Ordered  int `json:"ordered"`
	Unserved int `json:"unserved"`
	Machines int `json:"machines"`
	// CostPerHour of all machines to be bought.
	CostPerHour float64 `json:"costPerHour"`
	// LowerBound is a cost per hour below which nobody could carry the pods of these machines.
	LowerBound float64 `json:"lowerBound"`
	// PlanAgainSeconds is when a back-off ends that stands in the way; absent when none does.
	PlanAgainSeconds float64 `json:"planAgainSeconds,omitempty"`
}

// planMachine is a machine to be bought.
type planMachine struct {
	Claim       string            `json:"claim"`
	Pool        string            `json:"pool"`
	Shape       string            `json:"shape"`
	Resources   map[string]string `json:"resources"`
	Allocatable map[string]string `json:"allocatable"`
	// Use is what the pods and DaemonSets will have asked for, as a share of allocatable.
	Use         map[string]float64 `json:"use"`
	CostPerHour float64            `json:"costPerHour"`
	Pods        []string           `json:"pods"`

	workloads string
}

// planReserve is room on a machine in flight.
type planReserve struct {
	Claim string   `json:"claim"`
	Pods  []string `json:"pods"`
}

// planPod is what becomes of one pod.
type planPod struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Fate      capacity.Fate    `json:"fate"`
	Node      string           `json:"node,omitempty"`
	Claim     string           `json:"claim,omitempty"`
	Reason    capacity.Code    `json:"reason,omitempty"`
	Message   string           `json:"message,omitempty"`
	Pools     []planPoolReason `json:"pools,omitempty"`

	workload string
}

type planPoolReason struct {
	Pool    string        `json:"pool"`
	Reason  capacity.Code `json:"reason"`
	Message string        `json:"message"`
}

func newPlanReport(v *capacity.View, p capacity.Plan, workloads map[types.UID]string) planReport {
	r := planReport{
		Version:  1,
		Summary:  planSummary{Pods: len(v.Shortfalls), Machines: len(p.Creates), PlanAgainSeconds: p.Next.Seconds()},
		Machines: []planMachine{}, Reserved: []planReserve{}, Pods: []planPod{}, Notes: []string{},
	}
	for _, c := range p.Creates {
		r.Machines = append(r.Machines, newPlanMachine(c, v.Daemons, workloads))
	}
	r.Summary.CostPerHour, r.Summary.LowerBound = rounded(p.Cost, 1e6), rounded(p.LowerBound, 1e6)
	for _, c := range p.Reserve {
		r.Reserved = append(r.Reserved, planReserve{Claim: c.Claim.Name, Pods: keysOf(c.Pods)})
	}
	for _, s := range v.Shortfalls {
		r.addPod(s.Pod, p.Outcomes[s.Pod.UID], workloads[s.Pod.UID])
	}
	slices.SortFunc(r.Pods, func(a, b planPod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return r
}

func newPlanMachine(c capacity.Create, daemons []*capacity.Daemon, workloads map[types.UID]string) planMachine {
	node := capacity.NodeOfClaim(c.Claim, daemons)
	used := node.Daemons.Clone()
	for _, p := range c.Pods {
		used.Add(p.Ask.Requests)
	}
	return planMachine{
		Claim: c.Claim.Name, Pool: c.Claim.Spec.Pool, Shape: c.Claim.Spec.Shape,
		Resources: amounts(c.Claim.Spec.Resources), Allocatable: amounts(node.Allocatable.List()),
		Use:         shares(used, node.Allocatable),
		CostPerHour: rounded(c.Cost, 1e6), Pods: keysOf(c.Pods), workloads: crowd(c.Pods, workloads),
	}
}

func (r *planReport) addPod(p *capacity.Pod, o capacity.Outcome, workload string) {
	pod := planPod{
		Namespace: p.Namespace, Name: p.Name, Fate: o.Fate, Node: o.Node, Claim: o.Claim,
		Reason: o.Reason.Code, workload: workload,
	}
	switch o.Fate {
	case capacity.FitsNow:
		r.Summary.FitsNow++
	case capacity.Waits:
		r.Summary.Waits++
	case capacity.Ordered:
		r.Summary.Ordered++
	default:
		r.Summary.Unserved++
		pod.Message = o.Reason.OfPool()
	}
	for _, pool := range o.Pools {
		pod.Pools = append(pod.Pools, planPoolReason{Pool: pool.Pool, Reason: pool.Reason.Code, Message: pool.Reason.OfPool()})
	}
	r.Pods = append(r.Pods, pod)
}

func keysOf(pods []*capacity.Pod) []string {
	keys := make([]string, 0, len(pods))
	for _, p := range pods {
		keys = append(keys, p.Key())
	}
	return keys
}

func amounts(list corev1.ResourceList) map[string]string {
	out := make(map[string]string, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		out[string(name)] = q.String()
	}
	return out
}

// shares are the parts of a whole that are used, in thousandths.
func shares(used, of amount.Resources) map[string]float64 {
	out := map[string]float64{}
	part := used.List()
	for name, whole := range of.List() {
		q := part[name]
		if whole.Sign() > 0 {
			out[string(name)] = rounded(q.AsApproximateFloat64()/whole.AsApproximateFloat64(), 1000)
		}
	}
	return out
}

func rounded(v, per float64) float64 { return math.Round(v*per) / per }
