package capacity

// Class is what pods have in common that every place answers alike: their ask, and what rules about other pods see of
// them. It belongs to one Simulation.
type Class struct {
	Ask *Ask
	// ID counts the classes of the Simulation from 0.
	ID int
	// Strict is how many of the pods' preferences count as hard; 0 for the class that kube-scheduler's filters know.
	Strict int

	key  classKey
	base *Class
}

// Class is the class of a pod, resolved once.
func (s *Simulation) Class(pod *Pod) *Class {
	if c := s.byPod[pod]; c != nil {
		return c
	}
	c := s.class(pod, classKey{ask: pod.Ask})
	s.byPod[pod] = c
	return c
}

func (s *Simulation) class(pod *Pod, key classKey) *Class {
	if c := s.classes[key]; c != nil {
		return c
	}
	c := &Class{Ask: key.ask, ID: s.ids, Strict: key.strict, key: key}
	s.ids++
	c.base = c
	s.classes[key] = c
	return c
}

// Strictest is the class with every preference of its pods counted as hard (preferred node affinity, PreferNoSchedule
// taints, ScheduleAnyway spread, preferred pod affinity and anti-affinity); the class itself where they have none.
func (s *Simulation) Strictest(c *Class) *Class { return c }

// Relaxed is the class with the weakest of its hard preferences let go; nil when none is left to let go. What was Put as
// one of these classes may be Taken as any of them.
func (s *Simulation) Relaxed(c *Class) *Class { return nil }

// Plain says whether only Admits and Room judge the class: no rule about ports, volumes or other pods concerns it, its
// own or another pod's. Pods of a plain class can be packed by arithmetic. A class can stop being plain when another one
// is resolved: resolve all first.
func (c *Class) Plain() bool { return true }
