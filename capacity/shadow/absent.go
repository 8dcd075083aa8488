package shadow

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/capacity"
)

// absent is the view as if these nodes were gone and each of their pods had moved to the fullest open node that has room
// for it. A pod that has room nowhere is left out: whoever decided to release its node knew where it goes.
func absent(v *capacity.View, gone map[string]bool) *capacity.View {
	if len(gone) == 0 {
		return v
	}
	next := *v
	next.Nodes, next.Claims, next.Pods = nil, nil, make(map[string][]*capacity.Pod, len(v.Pods))
	var moving []*capacity.Pod
	for _, n := range v.Nodes {
		if !gone[n.Name] {
			next.Nodes = append(next.Nodes, n)
			next.Pods[n.Name] = v.Pods[n.Name]
			continue
		}
		for _, p := range v.Pods[n.Name] {
			if guest(p) {
				moving = append(moving, p)
			}
		}
	}
	moved := move(&next, moving)
	for _, c := range v.Claims {
		if gone[c.Node.Name] {
			continue
		}
		if n := moved[c.Node.Name]; n != nil {
			stays := *c
			stays.Node = n
			c = &stays
		}
		next.Claims = append(next.Claims, c)
	}
	return &next
}

// guest says whether a pod would outlive its node.
func guest(p *capacity.Pod) bool { return !p.Resident() }

// move puts pods on nodes of the view, which it changes, and returns the nodes that took some.
func move(v *capacity.View, pods []*capacity.Pod) map[string]*capacity.Node {
	moved := map[string]*capacity.Node{}
	for _, p := range pods {
		i := roomFor(v, p)
		if i < 0 {
			continue
		}
		n := moved[v.Nodes[i].Name]
		if n == nil {
			fresh := *v.Nodes[i]
			fresh.Used = fresh.Used.Clone()
			n = &fresh
			moved[n.Name], v.Nodes[i] = n, n
		}
		n.Used.Add(p.Usage)
		v.Pods[n.Name] = append(slices.Clone(v.Pods[n.Name]), p)
	}
	return moved
}

// roomFor is the index of the open node with the least free CPU that has room for a pod, -1 where none has.
func roomFor(v *capacity.View, p *capacity.Pod) int {
	best, left := -1, int64(0)
	for i, n := range v.Nodes {
		if n.Stage != capacity.Open {
			continue
		}
		free := n.Free()
		if !capacity.Fit(p.Ask, n, free, v.Classes).Fits {
			continue
		}
		if best < 0 || cmp.Less(free.MilliCPU, left) {
			best, left = i, free.MilliCPU
		}
	}
	return best
}
