package reaper

import (
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// The CRD's defaults, for pools that did not pass an API server. Idle nodes wait as long as under-used ones.
const (
	DefaultIdleAfter            = 10 * time.Minute
	DefaultUtilizationThreshold = 30 // percent
	DefaultUnderusedAfter       = 10 * time.Minute
	DefaultHeadroom             = 10 // percent
	DefaultDrainTimeout         = 15 * time.Minute
)

func or[T any](given *T, otherwise T) T {
	if given != nil {
		return *given
	}
	return otherwise
}

func idleAfter(p *v1alpha1.NodePool) time.Duration {
	if d := p.Spec.ScaleDown.IdleAfter; d != nil {
		return d.Duration
	}
	return DefaultIdleAfter
}

func underusedAfter(p *v1alpha1.NodePool) time.Duration {
	if d := p.Spec.ScaleDown.UnderusedAfter; d != nil {
		return d.Duration
	}
	return DefaultUnderusedAfter
}

func drainOf(p *v1alpha1.NodePool) *v1alpha1.Drain {
	s := &p.Spec.ScaleDown
	d := &v1alpha1.Drain{EvictLocalStorage: s.EvictLocalStorage, Force: s.Force}
	d.Timeout.Duration = DefaultDrainTimeout
	if s.DrainTimeout != nil {
		d.Timeout = *s.DrainTimeout
	}
	return d
}

func underused(n *capacity.Node, p *v1alpha1.NodePool) bool {
	return p != nil && Utilization(n)*100 < float64(or(p.Spec.ScaleDown.UtilizationThreshold, DefaultUtilizationThreshold))
}

// Utilization is the largest share of what pods asked for in what the node offers, over cpu, memory and devices; DaemonSet
// and mirror pods count. It follows Cluster Autoscaler's documented rule (FAQ, "How does scale-down work?": the requests of
// all pods, DaemonSet and mirror pods included by default), which looks at devices alone where a node has any.
func Utilization(n *capacity.Node) float64 {
	most := max(share(n.Used.MilliCPU, n.Allocatable.MilliCPU), share(n.Used.Memory, n.Allocatable.Memory))
	for name, used := range n.Used.Scalar {
		most = max(most, share(used, n.Allocatable.Scalar[name]))
	}
	return most
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
