package proxmox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// host is what placement knows of one host. Cpu is in cores, memory in bytes; Committed is what running VMs and those in
// flight may use together, templates left out.
type host struct {
	Name   string
	Online bool
	// Labels are the operator's.
	Labels          map[string]string
	CPU, Memory     float64
	CommittedCPU    float64
	CommittedMemory float64
	// Used is the memory in use as the host itself says.
	Used float64
	// Ours and OfPool count machines of this Provider, and of the NodePool that asks.
	Ours, OfPool int
}

// want is what a machine needs of its host.
type want struct{ CPU, Memory float64 }

// room is what is left on a host by the rules: overcommitted, less what is committed or in use, less what stays free.
func (h host) room(p *v1alpha1.ProxmoxPlacement) want {
	used := max(h.CommittedMemory, h.Used)
	return want{
		CPU:    h.CPU*ratio(p.Overcommit, corev1.ResourceCPU) - h.CommittedCPU - amount(p.MinFree, corev1.ResourceCPU),
		Memory: h.Memory*ratio(p.Overcommit, corev1.ResourceMemory) - used - amount(p.MinFree, corev1.ResourceMemory),
	}
}

func amount(list corev1.ResourceList, name corev1.ResourceName) float64 {
	q := list[name]
	return q.AsApproximateFloat64()
}

func ratio(list corev1.ResourceList, name corev1.ResourceName) float64 {
	if r := amount(list, name); r > 0 {
		return r
	}
	return 1
}

// place chooses a host, or says of each why it was not chosen. Last is the host chosen before, for roundRobin. The order of
// hosts is without meaning; ties go by name.
func place(hosts []host, w want, p *v1alpha1.ProxmoxPlacement, last string) (string, error) {
	var fit []host
	var why []string
	hosts = slices.Clone(hosts)
	slices.SortFunc(hosts, func(a, b host) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range hosts {
		if reason := unfit(h, w, p); reason != "" {
			why = append(why, h.Name+": "+reason)
			continue
		}
		fit = append(fit, h)
	}
	if len(fit) == 0 {
		return "", fmt.Errorf("no host has room: %s", strings.Join(why, "; "))
	}
	if p.AntiAffinity == "Preferred" {
		least := slices.MinFunc(fit, func(a, b host) int { return a.OfPool - b.OfPool }).OfPool
		fit = slices.DeleteFunc(fit, func(h host) bool { return h.OfPool > least })
	}
	return best(fit, w, p, last), nil
}

func unfit(h host, w want, p *v1alpha1.ProxmoxPlacement) string {
	room := h.room(p)
	switch {
	case !h.Online:
		return "offline"
	case len(p.Hosts) > 0 && !slices.Contains(p.Hosts, h.Name):
		return "not in placement.hosts"
	case !labelled(h, p.HostSelector):
		return "does not match placement.hostSelector"
	case slices.Contains(p.ExcludedHosts, h.Name):
		return "excluded"
	case p.AntiAffinity == "Required" && h.OfPool > 0:
		return "has a machine of this pool"
	case w.CPU > h.CPU:
		return fmt.Sprintf("has %g cores, one VM may not have %g", h.CPU, w.CPU)
	case w.CPU > room.CPU:
		return fmt.Sprintf("%g cores left of %g needed", max(0, room.CPU), w.CPU)
	case w.Memory > room.Memory:
		return fmt.Sprintf("%.0f MiB left of %.0f needed", max(0, room.Memory)/mebi, w.Memory/mebi)
	}
	return ""
}

func labelled(h host, selector map[string]string) bool {
	for name, value := range selector {
		if has, ok := h.Labels[name]; !ok || has != value {
			return false
		}
	}
	return true
}

// best is the first of the hosts by the strategy; they are sorted by name.
func best(fit []host, w want, p *v1alpha1.ProxmoxPlacement, last string) string {
	left := func(h host) want {
		room := h.room(p)
		return want{CPU: room.CPU - w.CPU, Memory: room.Memory - w.Memory}
	}
	share := func(h host) float64 { return min(left(h).CPU/h.CPU, left(h).Memory/h.Memory) }
	rank := func(a, b host) int { return cmp.Compare(share(b), share(a)) }
	switch p.Strategy {
	case v1alpha1.PlacementSpread:
		rank = func(a, b host) int { return cmp.Or(a.Ours-b.Ours, cmp.Compare(share(b), share(a))) }
	case v1alpha1.PlacementMaxMemory:
		rank = func(a, b host) int { return cmp.Compare(left(b).Memory, left(a).Memory) }
	case v1alpha1.PlacementMaxCPU:
		rank = func(a, b host) int { return cmp.Compare(left(b).CPU, left(a).CPU) }
	case v1alpha1.PlacementPacked:
		rank = func(a, b host) int { return cmp.Compare(left(a).Memory, left(b).Memory) }
	case v1alpha1.PlacementRoundRobin:
		after := func(h host) int {
			if h.Name > last {
				return 0
			}
			return 1
		}
		rank = func(a, b host) int { return cmp.Or(after(a)-after(b), strings.Compare(a.Name, b.Name)) }
	}
	return slices.MinFunc(fit, rank).Name
}
