package volume

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Site is a node, or a machine that may become one, with the pods on it that have volumes.
type Site struct {
	node *corev1.Node // name and labels
	csi  *csiNode     // nil where none is known: then no limit is known either
	pods []*Demand

	volumes map[attachment]int // pods that attach it
	drivers map[string]int     // attached volumes by driver
	broken  int                // pods with a volume that the scheduler cannot count
}

// Site makes a place for pods of this State. What a node attaches, and how much it may, is known only once it exists.
func (s *State) Site(node *corev1.Node, exists bool) *Site {
	at := &Site{node: node}
	if exists {
		at.csi = s.in.nodes[node.Name]
	}
	return at
}

func (at *Site) add(s *State, d *Demand) {
	at.pods = append(at.pods, d)
	at.count(s, d, 1)
}

func (at *Site) remove(s *State, d *Demand) {
	if i := slices.Index(at.pods, d); i >= 0 {
		at.pods = slices.Delete(at.pods, i, i+1)
		at.count(s, d, -1)
	}
}

// count keeps what is attached; without limits nobody asks.
func (at *Site) count(s *State, d *Demand, n int) {
	if at.csi == nil || len(at.csi.limits) == 0 {
		return
	}
	if at.volumes == nil {
		at.volumes, at.drivers = map[attachment]int{}, map[string]int{}
	}
	for a := range s.in.attaches(d) {
		before := at.volumes[a]
		at.volumes[a] = before + n
		switch {
		case before == 0:
			at.drivers[a.driver]++
		case before+n == 0:
			at.drivers[a.driver]--
			delete(at.volumes, a)
		}
	}
	if s.in.uncountable(d) {
		at.broken += n
	}
}

// attaches is what a pod that runs makes its node attach: each volume once. A claim that is gone counts no more.
func (f *Frozen) attaches(d *Demand) map[attachment]bool {
	set := map[attachment]bool{}
	for _, a := range d.inline {
		set[a] = true
	}
	for _, u := range d.claims {
		if c := f.claims[d.key(u)]; c != nil {
			if a, counted := f.attachment(c); counted {
				set[a] = true
			}
		}
	}
	return set
}

// uncountable says whether the scheduler gives up on a node for the sake of this pod, which is there already.
func (f *Frozen) uncountable(d *Demand) bool {
	return d.untranslatable != "" || slices.ContainsFunc(d.claims, func(u claimUse) bool {
		c := f.claims[d.key(u)]
		return u.name == "" || c != nil && u.ephemeral && c.owner != d.uid
	})
}

// attachedTo lists what VolumeAttachments say about a node: volumes whose pod has left stay attached for a while.
func (s *State) attachedTo(node string) []attachment {
	if s.attached == nil {
		s.attached = map[string][]attachment{}
		for _, name := range slices.Sorted(maps.Keys(s.in.attached)) {
			a := s.in.attached[name]
			if v := s.in.volumes[a.volume]; v != nil && v.csi.driver != "" {
				s.attached[a.node] = append(s.attached[a.node], attachment{driver: a.driver, handle: v.csi.handle})
			}
		}
	}
	return s.attached[node]
}
