package shadow

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// book keeps the proposals. It is a value that is changed under its owner's lock.
type book struct {
	since    time.Time
	machines map[string]*Machine // that stand, by claim
	nodes    map[string]*Node    // that stand, by node
	over     map[string]Totals   // of those that ended, by pool
	fresh    []*Machine          // since news was last asked

	endedMachines ring[Machine]
	endedNodes    ring[Node]
	replacements  []Replacement
	inTurn        int
	waiting       []Pod
	waitingPods   int
}

func newBook(now time.Time) book {
	return book{since: now, machines: map[string]*Machine{}, nodes: map[string]*Node{}, over: map[string]Totals{}}
}

// follow takes in the claims that are new, brings the pods of all up to date, and returns the machines nobody waits for
// any more.
func (b *book) follow(v *capacity.View, claims []*v1alpha1.NodeClaim, podOf func(types.UID) *capacity.Pod, now time.Time,
	boot time.Duration,
) []*Machine {
	var ended []*Machine
	for _, c := range claims {
		m := b.machines[c.Name]
		if m == nil {
			m = machineOf(v, c, boot)
			b.machines[c.Name] = m
			b.fresh = append(b.fresh, m)
		}
		m.list(c.Spec.Reserved)
		m.follow(podOf, now)
		if m.Why = m.over(v); m.Why != "" {
			b.end(m, now)
			ended = append(ended, m)
		}
	}
	return ended
}

func machineOf(v *capacity.View, c *v1alpha1.NodeClaim, boot time.Duration) *Machine {
	return &Machine{
		Name: c.Name, Pool: c.Spec.Pool, Shape: c.Spec.Shape, Resources: c.Spec.Resources, Cost: costOf(v, c),
		Ordered: c.CreationTimestamp.Time, Ready: c.CreationTimestamp.Add(boot), Pods: []Served{}, uid: c.UID,
	}
}

// list adds the pods that room was reserved for since.
func (m *Machine) list(reserved []v1alpha1.PodReference) {
	for _, ref := range reserved {
		if !slices.ContainsFunc(m.Pods, func(p Served) bool { return p.uid == ref.UID }) {
			m.Pods = append(m.Pods, Served{Namespace: ref.Namespace, Name: ref.Name, uid: ref.UID})
		}
	}
}

func (m *Machine) follow(podOf func(types.UID) *capacity.Pod, now time.Time) {
	for i := range m.Pods {
		p := &m.Pods[i]
		if !p.waits() {
			continue
		}
		switch pod := podOf(p.uid); {
		case pod == nil || pod.Finished || pod.Terminating && pod.Node == "":
			p.Until = &now
		case pod.Node != "":
			p.Node, p.Until = pod.Node, &now
		}
	}
}

func (p *Served) waits() bool { return p.Until == nil }

// over says why a machine is not needed any more; nothing while it is.
func (m *Machine) over(v *capacity.View) string {
	pool := slices.IndexFunc(v.Pools, func(p *v1alpha1.NodePool) bool { return p.Name == m.Pool })
	switch {
	case pool < 0:
		return WhyPool
	case slices.ContainsFunc(v.Claims, func(c *capacity.Claim) bool { return c.Object.Name == m.Name && c.Object.UID != m.uid }):
		return WhyTaken
	case len(m.Pods) == 0:
		if keeps(v.Pools[pool]) < machines(v, m.Pool) {
			return WhyEnough
		}
		return ""
	case slices.ContainsFunc(m.Pods, func(p Served) bool { return p.waits() }):
		return ""
	case slices.ContainsFunc(m.Pods, func(p Served) bool { return p.Node != "" }):
		return WhyServed
	}
	return WhyGone
}

// keeps is how many machines a pool has at least, whoever asks.
func keeps(p *v1alpha1.NodePool) int {
	if p.Spec.Spare != nil {
		return int(p.Spec.Limits.MaxNodes) // how many are spare changes all the time: what was ordered so stands
	}
	return int(p.Spec.Limits.MinNodes)
}

func machines(v *capacity.View, pool string) int {
	n := 0
	for _, c := range v.Claims {
		if c.Object.Spec.Pool == pool {
			n++
		}
	}
	return n
}

// news are the machines that were proposed since it was last asked.
func (b *book) news() []*Machine {
	fresh := b.fresh
	b.fresh = nil
	return fresh
}

func (b *book) end(m *Machine, now time.Time) {
	m.Ended = &now
	delete(b.machines, m.Name)
	t := b.over[m.Pool]
	t.add(m.totals(now))
	b.over[m.Pool] = t
	b.endedMachines.put(*m)
}

// maxWaiting bounds how many pods that wait are named.
const maxWaiting = 1000

// tell takes note of the pods that wait, and of what they would have been told.
func (b *book) tell(told map[types.UID]corev1.PodCondition, v *capacity.View) {
	b.waiting, b.waitingPods = []Pod{}, len(v.Shortfalls)
	for _, s := range slices.SortedStableFunc(slices.Values(v.Shortfalls), func(a, b *capacity.Shortfall) int { return a.Since.Compare(b.Since) }) {
		if len(b.waiting) == maxWaiting {
			return
		}
		c := told[s.Pod.UID]
		b.waiting = append(b.waiting, Pod{Namespace: s.Pod.Namespace, Name: s.Pod.Name, Reason: c.Reason, Message: c.Message, since: s.Since})
	}
}
