package control

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

// brakes remember where room was made, or was to be made, to no avail. Pods are told apart by their owner and by what
// they ask, not by name, so that a controller that makes its pods again and again has nobody evicted again and again.
type brakes map[brakeKey]*brake

type brakeKey struct{ owner, signature string }

type brake struct {
	nodes map[string]leftAlone
	why   capacity.Reason // of the last refusal
	vain  []time.Time     // when room was made that the pod did not take
}

// leftAlone is a node that is not asked for room until then, and how often that was so in a row.
type leftAlone struct {
	until time.Time
	times int
}

const (
	// vainFor is how long a node is left alone whose room a pod did not take, and how long that is held against the pod.
	vainFor = time.Hour
	// vainPreemptions is how often pods are evicted in vain for a pod in that time.
	vainPreemptions = 2
)

// blockedFor is how long a node is left alone where an eviction was refused.
var blockedFor = policy.Backoff{First: 10 * time.Second, Most: 5 * time.Minute}

func keyOf(p *capacity.Pod) brakeKey {
	if p.Owner == "" {
		return brakeKey{owner: string(p.UID)}
	}
	return brakeKey{owner: string(p.Owner), signature: p.Ask.Signature}
}

func (b brakes) on(p *capacity.Pod) *brake {
	key := keyOf(p)
	if b[key] == nil {
		b[key] = &brake{nodes: map[string]leftAlone{}}
	}
	return b[key]
}

// block leaves a node alone, for longer with each refusal in a row. A zero reason is not told.
func (b brakes) block(p *capacity.Pod, node string, why capacity.Reason, now time.Time) {
	one := b.on(p)
	times := one.nodes[node].times + 1
	one.nodes[node] = leftAlone{until: now.Add(blockedFor.Wait(times, node)), times: times}
	one.why = why
}

// vain notes that room was made for nothing.
func (b brakes) vain(p *capacity.Pod, node string, now time.Time) {
	one := b.on(p)
	one.nodes[node], one.vain = leftAlone{until: now.Add(vainFor)}, append(one.vain, now)
}

// clear is for a pod that took the room made for it.
func (b brakes) clear(p *capacity.Pod) { delete(b, keyOf(p)) }

// forget drops what is long over: a refusal counts as one in a row until the longest wait has passed after it.
func (b brakes) forget(now time.Time) {
	for key, one := range b {
		maps.DeleteFunc(one.nodes, func(_ string, n leftAlone) bool { return now.Sub(n.until) >= blockedFor.Most })
		one.vain = slices.DeleteFunc(one.vain, func(t time.Time) bool { return now.Sub(t) >= vainFor })
		if len(one.nodes) == 0 && len(one.vain) == 0 {
			delete(b, key)
		}
	}
}

// nodes are those to be left alone for a pod.
func (b brakes) nodes(p *capacity.Pod, now time.Time) sets.Set[string] {
	one := b[keyOf(p)]
	if one == nil {
		return nil
	}
	alone := sets.New[string]()
	for name, n := range one.nodes {
		if now.Before(n.until) {
			alone.Insert(name)
		}
	}
	return alone
}

// stopped says whether room was made in vain so often that nobody is evicted for the pod any more for a while.
func (b brakes) stopped(p *capacity.Pod) bool {
	one := b[keyOf(p)]
	return one != nil && len(one.vain) >= vainPreemptions
}

// told is what stands in a pod's way; the zero Reason when it is nothing but the decision itself.
func (b brakes) told(p *capacity.Pod, now time.Time) capacity.Reason {
	switch {
	case b.stopped(p):
		return capacity.Reason{Code: capacity.CodePreemptVain}
	case len(b.nodes(p, now)) > 0:
		return b[keyOf(p)].why
	}
	return capacity.Reason{}
}
