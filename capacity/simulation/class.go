package simulation

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/topology"
	"github.com/muster-sh/muster/capacity/volume"
)

// Class is what pods have in common that every place answers alike: their ask, and what rules about other pods see of
// them. It belongs to one Simulation.
type Class struct {
	Ask *capacity.Ask
	// ID counts the classes of the Simulation from 0.
	ID int

	base     *Class           // the class that kube-scheduler's filters know; itself in most cases
	wishes   []wish           // those that count as hard, the strongest first
	takes    amount.Resources // what one pod takes of a node
	stricter map[hardness]*Class

	volumes  *volume.Demand   // of the one pod of the class; nil for most
	kind     *topology.Kind   // nil where no pod has any rule
	insisted *topology.Checks // of wishes about other pods; nil where there are none
}

// classKey is what pods of one class have in common.
type classKey struct {
	ask         *capacity.Ask
	namespace   string
	labels      topology.Labels // as far as any rule looks at them
	terminating bool
	rank        int32
	own         types.UID // of a pod that stands for no other
}

// Class is the class of a pod.
func (s *Simulation) Class(pod *capacity.Pod) *Class {
	c := s.byPod[pod]
	if c == nil {
		c = s.class(pod, s.rank(pod))
		s.byPod[pod] = c
	}
	return c
}

func (s *Simulation) class(pod *capacity.Pod, rank int32) *Class {
	others := s.topology()
	key := classKey{ask: pod.Ask}
	if s.ruled {
		key.rank = rank
		key.namespace, key.labels, key.terminating = pod.Namespace, others.See(pod.Labels), pod.Terminating
	}
	takes := pod.Ask.Requests
	if pod.Node != "" && !pod.Usage.Equal(takes) {
		key.own, takes = pod.UID, pod.Usage // resized in place
	}
	if pod.Volumes != nil {
		key.own = pod.UID // no two pods share a Demand
	}
	if c := s.classes[key]; c != nil {
		return c
	}
	c := s.newClass(pod.Ask)
	c.takes, c.volumes = takes, pod.Volumes
	if s.ruled {
		seen := pod.Subject()
		seen.Rank = rank
		c.kind = others.Kind(seen)
	}
	s.classes[key] = c
	return c
}

func (s *Simulation) newClass(a *capacity.Ask) *Class {
	c := &Class{Ask: a, ID: s.ids}
	c.base = c
	s.ids++
	return c
}

// Strictest is the class with every preference of its pods counted as hard (preferred node affinity, PreferNoSchedule
// taints, ScheduleAnyway spread, preferred pod affinity and anti-affinity); the class itself where they have none that
// could matter. Ask when all models are known.
func (s *Simulation) Strictest(c *Class) *Class {
	all := wishes(c.base.Ask)
	if s.softTaints {
		all = append([]wish{{what: wishOfTaints, strength: taintStrength}}, all...)
	}
	return s.insist(c.base, all)
}

// Choosy is Strictest without preferences over hosts: what pods prefer of the machine that is bought for them, which never
// takes more machines.
func (s *Simulation) Choosy(c *Class) *Class {
	all := slices.DeleteFunc(wishes(c.base.Ask), wish.overHosts)
	if s.softTaints {
		all = append([]wish{{what: wishOfTaints, strength: taintStrength}}, all...)
	}
	return s.insist(c.base, all)
}

// Relaxed is the class with the weakest of its hard preferences let go; nil when none is left to let go. What was Put as
// one of these classes may be Taken as any of them.
func (s *Simulation) Relaxed(c *Class) *Class {
	if len(c.wishes) == 0 {
		return nil
	}
	return s.insist(c.base, c.wishes[:len(c.wishes)-1])
}

// insist is the class in which these wishes, the strongest of all, count as hard.
func (s *Simulation) insist(base *Class, hard []wish) *Class {
	if len(hard) == 0 {
		return base
	}
	key := hardness{len(hard), hard[0].what == wishOfTaints, slices.ContainsFunc(hard, wish.overHosts)}
	if known := base.stricter[key]; known != nil {
		return known
	}
	c := s.newClass(base.Ask)
	c.base, c.wishes, c.takes, c.kind = base, hard, base.takes, base.kind
	c.volumes = base.volumes
	var others []topology.Wish
	for _, w := range hard {
		if w.what == wishOfOthers {
			others = append(others, w.other)
		}
	}
	if len(others) > 0 {
		c.insisted = s.others.Insist(base.kind, others)
	}
	if base.stricter == nil {
		base.stricter = map[hardness]*Class{}
	}
	base.stricter[key] = c
	return c
}

// hardness tells the stricter classes of one class apart.
type hardness struct {
	wishes int
	taints bool // are among them
	hosts  bool // some are over hosts
}

// Base is the class without any preference counted as hard: what kube-scheduler's filters know.
func (c *Class) Base() *Class { return c.base }

// Plain says whether only Admits and Room judge the class: no rule about ports, volumes or other pods concerns it, its
// own or another pod's. Pods of a plain class can be packed by arithmetic. A class can stop being plain when another one
// is resolved: resolve all first.
func (c *Class) Plain() bool {
	return len(c.Ask.Ports) == 0 && c.volumes == nil && (c.kind == nil || c.kind.Free()) && (c.insisted == nil || c.insisted.Free()) &&
		c.Ask.Unjudged.Code != capacity.CodeSelector
}

// Counted says whether some rule counts the pods of the class.
func (c *Class) Counted() bool { return c.kind != nil && c.kind.Counted() }

// Likeness is the same text for classes that no rule about other pods tells apart.
func (c *Class) Likeness() string {
	if c.kind == nil {
		return ""
	}
	return c.kind.Likeness()
}

// HasVolumes says whether the one pod of the class has volumes that are judged.
func (c *Class) HasVolumes() bool { return c.volumes != nil }

// InsistsOnOthers says whether preferences about other pods count as hard.
func (c *Class) InsistsOnOthers() bool { return c.insisted != nil }

// Population is a pod's namespace and labels, as far as any rule looks at them; the zero value where none does.
type Population struct {
	namespace string
	labels    topology.Labels
}

// Population of a pod.
func (s *Simulation) Population(pod *capacity.Pod) Population {
	if s.topology(); !s.ruled {
		return Population{}
	}
	return Population{pod.Namespace, s.others.See(pod.Labels)}
}

// Foresee has preferences count that a machine of this kind could grant, though none is there yet.
func (s *Simulation) Foresee(n *capacity.Node) { s.softTaints = s.softTaints || n.Avoidable() }
