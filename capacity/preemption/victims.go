package preemption

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-sh/muster/capacity"
)

// candidate is a node and those who would have to leave it.
type candidate struct {
	*spot
	protected, others []*capacity.Pod // each the most important first
}

// decide finds room for one pod, and moves those concerned in the trial. A pod that asks what another one asked for in
// vain, with no higher priority, is refused without another look.
func (d *decider) decide(a Ask) (Move, bool) {
	p := a.Shortfall.Pod
	if why := ineligible(p, d.v); why.Code != "" {
		d.Refused[p.UID] = why
		return Move{}, false
	}
	class := d.trial.Class(p)
	if priority, known := d.vain[class]; known && p.Priority <= priority {
		d.Refused[p.UID] = capacity.Reason{Code: capacity.CodeNoVictims}
		return Move{}, false
	}
	if c := d.best(a); c != nil {
		return d.move(p, *c), true
	}
	if len(a.Not) == 0 && len(a.Shortfall.Refused) == 0 {
		d.vain[class] = p.Priority
	}
	d.Refused[p.UID] = capacity.Reason{Code: capacity.CodeNoVictims}
	return Move{}, false
}

// best is the node where room for a pod does the least harm, nil when there is none. Nobody is harmed where pods leave
// anyway.
func (d *decider) best(a Ask) *candidate {
	p := a.Shortfall.Pod
	var full []*spot
	for _, s := range d.spots {
		if len(s.leaving) == 0 && len(s.below(p.Priority)) == 0 || a.Not.Has(s.node.Name) || d.refused(a, s) {
			continue
		}
		v := d.trial.judge(p, s)
		if v.Fits {
			return &candidate{spot: s}
		}
		if v.Resolvable {
			full = append(full, s)
		}
	}
	return d.leastHarm(p, full)
}

// As many candidates as upstream wants (minCandidateNodesAbsolute, minCandidateNodesPercentage) are compared.
const (
	enoughCandidates = 100
	enoughShare      = 10 // one in so many nodes
)

// leastHarm compares the candidates among nodes that are full. In a large cluster not all of them are looked at; where
// the look begins depends on the pod, so that not always the same nodes are disturbed.
func (d *decider) leastHarm(p *capacity.Pod, full []*spot) *candidate {
	enough := max(enoughCandidates, len(full)/enoughShare)
	begin := 0
	if len(full) > enough {
		h := fnv.New32a()
		_, _ = h.Write([]byte(p.UID))
		begin = int(h.Sum32() % uint32(len(full)))
	}
	var best *candidate
	found := 0
	for i := range full {
		c, ok := d.victims(p, full[(begin+i)%len(full)])
		if !ok {
			continue
		}
		found++
		if best == nil || d.better(c, *best) {
			best = &c
		}
		if found >= enough && len(best.protected) == 0 {
			break
		}
	}
	return best
}

// refused says whether the scheduler's own filters are known to refuse the node, although those among them that pods
// leaving could change are judged to let the pod pass: then nobody knows what is in the way, and evictions may not help.
func (d *decider) refused(a Ask, s *spot) bool {
	if !a.Shortfall.RefusesNode(s.node.Name, d.v.Seen[s.node.Name]) {
		return false
	}
	for _, p := range s.leaving {
		d.trial.stay(p, s)
	}
	defer func() {
		for _, p := range s.leaving {
			d.trial.leave(p, s)
		}
	}()
	return d.trial.Company(d.trial.Class(a.Shortfall.Pod), s.place).Fits
}

// victims names the pods of a node that have to leave for p: all of lower priority leave on trial, and then each one
// comes back with whom p still fits, the protected ones first and the most important first (SelectVictimsOnNode).
func (d *decider) victims(p *capacity.Pod, s *spot) (candidate, bool) {
	lower := s.below(p.Priority)
	if len(lower) == 0 {
		return candidate{}, false
	}
	for _, v := range lower {
		d.trial.leave(v, s)
	}
	c := candidate{spot: s}
	ok := d.trial.fits(p, s)
	if ok {
		protected, others := d.budgets.split(lower)
		c.protected, c.others = d.reprieve(p, s, protected), d.reprieve(p, s, others)
		lower = append(slices.Clone(c.protected), c.others...)
	}
	for _, v := range lower {
		d.trial.stay(v, s)
	}
	return c, ok && len(lower) > 0
}

// below are the pods of a node with a lower priority, the most important first.
func (s *spot) below(priority int32) []*capacity.Pod {
	i, _ := slices.BinarySearchFunc(s.pods, priority, func(v *capacity.Pod, priority int32) int {
		if v.Priority >= priority {
			return -1
		}
		return 1
	})
	return s.pods[i:]
}

// reprieve puts back the pods that can stay, and returns those that cannot.
func (d *decider) reprieve(p *capacity.Pod, s *spot, pods []*capacity.Pod) (doomed []*capacity.Pod) {
	for _, v := range pods {
		d.trial.stay(v, s)
		if !d.trial.fits(p, s) {
			d.trial.leave(v, s)
			doomed = append(doomed, v)
		}
	}
	return doomed
}

// better follows pickOneNodeForPreemption: fewer protected victims, then the lower highest priority, then the smaller sum
// of priorities, then fewer victims, then those of the highest priority that started last; then the name.
func (d *decider) better(a, b candidate) bool {
	x, y := d.harm(a), d.harm(b)
	return cmp.Or(
		cmp.Compare(len(a.protected), len(b.protected)),
		cmp.Compare(x.highest, y.highest),
		cmp.Compare(x.sum, y.sum),
		cmp.Compare(x.victims, y.victims),
		y.started.Compare(x.started),
		strings.Compare(a.node.Name, b.node.Name),
	) < 0
}

// harm is what counts against a candidate.
type harm struct {
	highest int32
	sum     int64 // of the priorities, moved above zero so that more victims are never better
	victims int
	started time.Time // the earliest of the victims of the highest priority
}

func (d *decider) harm(c candidate) harm {
	h := harm{highest: math.MinInt32, victims: len(c.protected) + len(c.others)}
	for _, group := range [][]*capacity.Pod{c.protected, c.others} {
		for _, v := range group {
			h.sum += int64(v.Priority) + math.MaxInt32 + 1
			at := started(v, d.now)
			if v.Priority > h.highest || h.started.IsZero() || v.Priority == h.highest && at.Before(h.started) {
				h.highest, h.started = v.Priority, at
			}
		}
	}
	return h
}

// move makes the room in the trial as it will be made.
func (d *decider) move(p *capacity.Pod, c candidate) Move {
	m := Move{
		Pod: p, Node: c.node.Name, Pool: c.node.Pool, Victims: append(slices.Clone(c.protected), c.others...), Protected: len(c.protected),
		Leaving: slices.Clone(c.leaving),
	}
	m.Short = d.budgets.short(m.Victims)
	for _, v := range m.Victims {
		d.trial.leave(v, c.spot)
		d.budgets.spend(v)
	}
	c.spot.pods = slices.DeleteFunc(c.spot.pods, func(q *capacity.Pod) bool { return slices.Contains(m.Victims, q) })
	c.spot.leaving = append(c.spot.leaving, m.Victims...)
	d.trial.come(p, c.spot)
	return m
}

// sortByImportance puts higher priorities first, then those that started earlier (MoreImportantPod), then the name.
func sortByImportance(pods []*capacity.Pod, now time.Time) {
	slices.SortFunc(pods, func(a, b *capacity.Pod) int {
		return cmp.Or(
			cmp.Compare(b.Priority, a.Priority),
			started(a, now).Compare(started(b, now)),
			strings.Compare(a.Key(), b.Key()),
			strings.Compare(string(a.UID), string(b.UID)),
		)
	})
}

// started is now for a pod that is bound and has not started yet, as upstream has it.
func started(p *capacity.Pod, now time.Time) time.Time {
	if p.Started.IsZero() {
		return now
	}
	return p.Started
}
