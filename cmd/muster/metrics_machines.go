package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// machineRoom counts, when it is scraped, what pools have: nodes, and processors and memory that were provisioned, are
// allocatable and are allocated.
type machineRoom struct{ live *capacity.Live }

var (
	nodesDesc       = roomDesc("muster_nodes", "Machines of a pool that are there or on their way: claims that did not fail.")
	runningDesc     = roomDesc("muster_nodes_running", "Nodes of a pool that take pods: claims that are Ready.")
	cpuProvisioned  = roomDesc("muster_cpu_provisioned_cores", "Cores of a pool's machines whose making the provider has confirmed.")
	cpuAllocatable  = roomDesc("muster_cpu_allocatable_cores", "Cores that a pool's Nodes offer to pods.")
	cpuAllocated    = roomDesc("muster_cpu_allocated_cores", "Cores that pods request on a pool's Nodes.")
	memProvisioned  = roomDesc("muster_memory_provisioned_bytes", "Memory of a pool's machines whose making the provider has confirmed.")
	memAllocatable  = roomDesc("muster_memory_allocatable_bytes", "Memory that a pool's Nodes offer to pods.")
	memAllocated    = roomDesc("muster_memory_allocated_bytes", "Memory that pods request on a pool's Nodes.")
	machineRoomDesc = []*prometheus.Desc{nodesDesc, runningDesc, cpuProvisioned, cpuAllocatable, cpuAllocated, memProvisioned,
		memAllocatable, memAllocated}
)

func roomDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"pool"}, nil)
}

// Describe implements prometheus.Collector.
func (m *machineRoom) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range machineRoomDesc {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *machineRoom) Collect(ch chan<- prometheus.Metric) {
	for pool, figures := range roomOf(m.live.View()) {
		for i, d := range machineRoomDesc {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, figures[i], pool)
		}
	}
}

// roomFigures are in the order of machineRoomDesc.
type roomFigures [8]float64

// roomOf adds up by pool; a pool without machines has zeros.
func roomOf(v *capacity.View) map[string]*roomFigures {
	all := map[string]*roomFigures{}
	of := func(pool string) *roomFigures {
		if all[pool] == nil {
			all[pool] = &roomFigures{}
		}
		return all[pool]
	}
	for _, p := range v.Pools {
		of(p.Name)
	}
	for _, c := range v.Claims {
		f := of(c.Object.Spec.Pool)
		if c.Object.Status.State == v1alpha1.ClaimFailed {
			continue
		}
		f[0]++
		if c.Object.Status.State == v1alpha1.ClaimReady {
			f[1]++
		}
		if c.Object.Status.LaunchedAt != nil {
			f[2] += c.Object.Spec.Resources.Cpu().AsApproximateFloat64()
			f[5] += c.Object.Spec.Resources.Memory().AsApproximateFloat64()
		}
	}
	for _, n := range v.Nodes {
		if n.Pool == "" {
			continue
		}
		f := of(n.Pool)
		f[3] += float64(n.Allocatable.MilliCPU) / 1000
		f[4] += float64(n.Used.MilliCPU) / 1000
		f[6] += float64(n.Allocatable.Memory)
		f[7] += float64(n.Used.Memory)
	}
	return all
}
