package bench

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// group is the pods that one term or constraint counts, and by which label of their nodes.
type group struct{ key, label, value string }

func groupOf(key string, s *metav1.LabelSelector) group {
	for label, value := range s.MatchLabels {
		return group{key, label, value}
	}
	return group{key: key}
}

// has says whether a pod is counted.
func (g group) has(p *corev1.Pod) bool { return p.Labels[g.label] == g.value }

// seat is a pod and the machine it is meant for.
type seat struct {
	pod     *corev1.Pod
	machine int
}

// binding is a cluster in which all machines have come, while pods are bound to them one by one.
type binding struct {
	machines []machine
	groups   []group
	count    map[group]map[string]int // pods of a group in each domain
	refusing map[group]map[string]int // pods that refuse the group in each domain
}

func newBinding(machines []machine, pods []*corev1.Pod) *binding {
	b := &binding{machines: machines, count: map[group]map[string]int{}, refusing: map[group]map[string]int{}}
	for _, p := range pods {
		for _, g := range rulesOf(p).all() {
			if b.count[g] != nil {
				continue
			}
			b.groups = append(b.groups, g)
			b.count[g], b.refusing[g] = map[string]int{}, map[string]int{}
			for i := range machines {
				b.count[g][b.domain(g, i)] = 0
			}
		}
	}
	return b
}

// rules are what a pod demands of others.
type rules struct {
	spread          []corev1.TopologySpreadConstraint
	together, apart []group
}

func rulesOf(p *corev1.Pod) rules {
	r := rules{spread: p.Spec.TopologySpreadConstraints}
	if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			r.together = append(r.together, groupOf(t.TopologyKey, t.LabelSelector))
		}
	}
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			r.apart = append(r.apart, groupOf(t.TopologyKey, t.LabelSelector))
		}
	}
	return r
}

func (r rules) all() []group {
	all := slices.Concat(r.together, r.apart)
	for _, c := range r.spread {
		all = append(all, groupOf(c.TopologyKey, c.LabelSelector))
	}
	return all
}

func (b *binding) domain(g group, i int) string {
	if g.key == corev1.LabelHostname {
		return strconv.Itoa(i)
	}
	return b.machines[i].zone
}

// admits follows kube-scheduler's PodTopologySpread and InterPodAffinity filters for a pod on its machine.
func (b *binding) admits(s seat) bool {
	r := rulesOf(s.pod)
	for _, c := range r.spread {
		g := groupOf(c.TopologyKey, c.LabelSelector)
		least, own := lowest(b.count[g]), 0
		if g.has(s.pod) {
			own = 1
		}
		if b.count[g][b.domain(g, s.machine)]+own-least > int(c.MaxSkew) {
			return false
		}
	}
	for _, g := range r.together {
		if b.count[g][b.domain(g, s.machine)] == 0 && (!g.has(s.pod) || total(b.count[g]) > 0) {
			return false
		}
	}
	for _, g := range r.apart {
		if b.count[g][b.domain(g, s.machine)] > 0 {
			return false
		}
	}
	for _, g := range b.groups {
		if g.has(s.pod) && b.refusing[g][b.domain(g, s.machine)] > 0 {
			return false
		}
	}
	return true
}

func (b *binding) bind(s seat) {
	for _, g := range b.groups {
		if g.has(s.pod) {
			b.count[g][b.domain(g, s.machine)]++
		}
	}
	for _, g := range rulesOf(s.pod).apart {
		b.refusing[g][b.domain(g, s.machine)]++
	}
}

func lowest(counts map[string]int) int {
	first, least := true, 0
	for _, n := range counts {
		if first || n < least {
			first, least = false, n
		}
	}
	return least
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

// settle binds the seats in their order, those that are refused again and again, as long as any is taken. It returns
// those that are left.
func (b *binding) settle(seats []seat) []seat {
	for before := len(seats) + 1; len(seats) < before; {
		before = len(seats)
		left := make([]seat, 0, len(seats))
		for _, s := range seats {
			if b.admits(s) {
				b.bind(s)
			} else {
				left = append(left, s)
			}
		}
		seats = left
	}
	return seats
}

// fewestStuck is how many pods cannot be bound in the best of several orders: as the pods were created, as the answer
// lists them, and with pods that demand nothing of others only as they are needed.
func fewestStuck(a answer, pods []*corev1.Pod) int {
	stuck := stuckAsCreated(a, pods)
	if stuck > 0 {
		stuck = min(stuck, len(newBinding(a.machines, pods).settle(a.seats())))
	}
	if stuck > 0 {
		stuck = min(stuck, stuckAsNeeded(a, pods))
	}
	return stuck
}

// stuckAsCreated is how many pods a scheduler could not bind that takes them in the order of their creation and tries
// those that were refused again: what would happen to the answer in a real cluster.
func stuckAsCreated(a answer, pods []*corev1.Pod) int {
	order := make(map[types.UID]int, len(pods))
	for i, p := range pods {
		order[p.UID] = i
	}
	seats := a.seats()
	slices.SortFunc(seats, func(x, y seat) int { return order[x.pod.UID] - order[y.pod.UID] })
	return len(newBinding(a.machines, pods).settle(seats))
}

func (a answer) seats() []seat {
	var seats []seat
	for i, bought := range a.machines {
		for _, p := range bought.pods {
			seats = append(seats, seat{p, i})
		}
	}
	return seats
}

// stuckAsNeeded binds pods with demands first, and one without only where none with demands can go on: the one that
// raises the lowest domain of a group.
func stuckAsNeeded(a answer, pods []*corev1.Pod) int {
	b := newBinding(a.machines, pods)
	var bound, idle []seat
	for _, s := range a.seats() {
		if len(rulesOf(s.pod).all()) > 0 {
			bound = append(bound, s)
		} else {
			idle = append(idle, s)
		}
	}
	for {
		if bound = b.settle(bound); len(bound) == 0 {
			return len(b.settle(idle))
		}
		next := slices.IndexFunc(idle, b.helps)
		if next < 0 {
			return len(bound)
		}
		b.bind(idle[next])
		idle = slices.Delete(idle, next, next+1)
	}
}

// helps says whether a pod without demands raises the lowest domain of a group.
func (b *binding) helps(s seat) bool {
	return slices.ContainsFunc(b.groups, func(g group) bool {
		return g.key != corev1.LabelHostname && g.has(s.pod) && b.admits(s) &&
			b.count[g][b.domain(g, s.machine)] == lowest(b.count[g])
	})
}
