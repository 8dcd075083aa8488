package experience

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

// maxLearned is how many sizes of a range are remembered, which has many more. Of a fixed list it is as many as there are.
const maxLearned = 400

// LearnedShapes brings up to date what a pool knows of its shapes: what its nodes offer now, and, where none is left of a
// shape, what the last of them offered. Only nodes count that are proven to be the pool's machines. claims are those of the pool.
func LearnedShapes(v *capacity.View, pool *v1alpha1.NodePool, claims []*capacity.Claim, now time.Time) []v1alpha1.LearnedShape {
	known, forgotten := remembered(v, pool, now), ForgottenAt(pool, now)
	witnesses, mould := map[string][]*capacity.Claim{}, capacity.NewMould(pool)
	for _, c := range claims {
		at := c.Object.Status.RegisteredAt
		if forgotten != nil && (at == nil || !at.After(forgotten.At.Time)) {
			continue
		}
		if a := &c.Node.Allocatable; c.Proven && !capacity.Closed(c.Object) && a.MilliCPU > 0 && a.Memory > 0 && a.Pods > 0 && mould.Made(c.Object) {
			witnesses[c.Object.Spec.Shape] = append(witnesses[c.Object.Spec.Shape], c)
		}
	}
	for name, seen := range witnesses {
		if credible := credible(seen); len(credible) > 0 {
			known[name] = learn(known[name], credible, now)
		}
	}
	return newest(slices.Collect(maps.Values(known)))
}

const (
	// shapesKept is for how long it is remembered what nodes offered that are gone, aloneFor for how long a single node is believed
	// without a second one that says the same. A pod that the shape is too small for since then buys one machine, which confirms it
	// or does not.
	shapesKept = 30 * 24 * time.Hour
	aloneFor   = 24 * time.Hour
	// confirmEvery is how often it is noted that nodes still say the same.
	confirmEvery = 24 * time.Hour
)

// remembered is what the pool's status says, by shape, without what is too old, of another template, or to be forgotten.
func remembered(v *capacity.View, pool *v1alpha1.NodePool, now time.Time) map[string]v1alpha1.LearnedShape {
	known := map[string]v1alpha1.LearnedShape{}
	if pool.Status.Template != v.Template(pool).Hash || !sameForgotten(pool) {
		return known
	}
	for i := range pool.Status.Shapes {
		l := *pool.Status.Shapes[i].DeepCopy()
		if l.Observed.After(now) {
			l.Observed = metav1.NewTime(now.Truncate(time.Second))
		}
		if now.Sub(l.Observed.Time) < shapesKept {
			known[l.Name] = l
		}
	}
	return known
}

// Believed are the shapes that a plan counts with: all but those of which a single node spoke, a while ago.
func Believed(shapes []v1alpha1.LearnedShape, now time.Time) []v1alpha1.LearnedShape {
	return slices.DeleteFunc(slices.Clone(shapes), func(l v1alpha1.LearnedShape) bool {
		return l.Nodes < 2 && now.Sub(l.Observed.Time) >= aloneFor
	})
}

// maxForgotten is the longest value of the annotation that is told apart.
const maxForgotten = 253

func sameForgotten(pool *v1alpha1.NodePool) bool {
	said := forgetting(pool)
	return said == "" || pool.Status.Forgotten != nil && pool.Status.Forgotten.Value == said
}

func forgetting(pool *v1alpha1.NodePool) string {
	said := strings.ToValidUTF8(pool.Annotations[v1alpha1.ForgetShapesAnnotation], "")
	return said[:min(len(said), maxForgotten)]
}

// ForgottenAt is when the pool was last told to forget what it knows of its shapes: now, where the annotation is new.
func ForgottenAt(pool *v1alpha1.NodePool, now time.Time) *v1alpha1.Forgotten {
	f := pool.Status.Forgotten.DeepCopy()
	if !sameForgotten(pool) {
		f = &v1alpha1.Forgotten{Value: forgetting(pool), At: metav1.NewMicroTime(now.Truncate(time.Microsecond))}
	}
	if f != nil && f.At.After(now) {
		f.At = metav1.NewMicroTime(now.Truncate(time.Microsecond))
	}
	return f
}

// credible leaves out nodes that say less than any other, by an eighth or more, since one that offers more contradicts them; and a
// single one that offers less than half of the cpu or memory that it was to have. A broken machine says nothing about the next one, as
// long as it is alone.
func credible(nodes []*capacity.Claim) []*capacity.Claim {
	share := func(c *capacity.Claim) float64 {
		said, is := capacity.Promised(c.Object), &c.Node.Allocatable
		return min(float64(is.MilliCPU)/float64(max(said.MilliCPU, 1)), float64(is.Memory)/float64(max(said.Memory, 1)))
	}
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b *capacity.Claim) int {
		return cmp.Or(cmp.Compare(share(a), share(b)), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	for len(sorted) > 1 && share(sorted[0]) < share(sorted[1])*agrees {
		sorted = sorted[1:]
	}
	if len(sorted) == 1 && share(sorted[0]) < alone {
		return nil
	}
	return sorted
}

const (
	// agrees is how much of what another node offers a node has to offer, so that the two say the same.
	agrees = 7.0 / 8
	// alone is how much of what was promised a single node has to offer to be believed.
	alone = 1.0 / 2
)

// learn is what nodes of one shape offer. A single node does not overrule two that offered more.
func learn(old v1alpha1.LearnedShape, nodes []*capacity.Claim, now time.Time) v1alpha1.LearnedShape {
	fresh := offered(nodes, now)
	switch {
	case old.Name == "":
	case amount.Same(old.Allocatable, fresh.Allocatable):
		confirmed := fresh.Nodes > 1 && old.Nodes < 2
		fresh.Nodes = max(fresh.Nodes, old.Nodes)
		if !confirmed && (fresh.Nodes < 2 || now.Sub(old.Observed.Time) < confirmEvery) {
			fresh.Observed = old.Observed
		}
	case fresh.Nodes < 2 && old.Nodes > 1 && lower(fresh.Allocatable, old.Allocatable):
		return old
	}
	return fresh
}

// lower says whether a node that offers this says something else than one that offers that, and less.
func lower(this, that corev1.ResourceList) bool {
	a, b := amount.Of(this), amount.Of(that)
	return float64(a.MilliCPU) < float64(b.MilliCPU)*agrees || float64(a.Memory) < float64(b.Memory)*agrees
}

// offered is the least that nodes of one shape offer, in the kinds that the template promises and never more than it promises.
func offered(nodes []*capacity.Claim, now time.Time) v1alpha1.LearnedShape {
	first := nodes[0].Object
	said := capacity.Promised(first)
	least, devices := said.Clone(), map[corev1.ResourceName]int64{}
	for _, c := range nodes {
		is := &c.Node.Allocatable
		least.MilliCPU, least.Memory = min(least.MilliCPU, is.MilliCPU), min(least.Memory, is.Memory)
		least.EphemeralStorage, least.Pods = min(least.EphemeralStorage, is.EphemeralStorage), min(least.Pods, is.Pods)
		for name, n := range is.Scalar {
			if !capacity.InFlight(c.Object) { // devices may come late
				devices[name] = max(devices[name], n)
			}
		}
	}
	for name, n := range said.Scalar {
		if found, ok := devices[name]; ok {
			least.Set(name, min(n, found))
		}
	}
	return v1alpha1.LearnedShape{
		Name: first.Spec.Shape, Capacity: first.Spec.Resources.DeepCopy(), Allocatable: least.List(),
		Nodes: int32(min(len(nodes), 1<<31-1)), Observed: metav1.NewTime(now.Truncate(time.Second)), //nolint:gosec // bounded in the same line
	}
}

// newest are as many as the pool's status may list, by name.
func newest(shapes []v1alpha1.LearnedShape) []v1alpha1.LearnedShape {
	byName := func(a, b v1alpha1.LearnedShape) int { return strings.Compare(a.Name, b.Name) }
	if len(shapes) > maxLearned {
		slices.SortFunc(shapes, func(a, b v1alpha1.LearnedShape) int {
			return cmp.Or(b.Observed.Compare(a.Observed.Time), byName(a, b))
		})
		shapes = shapes[:maxLearned]
	}
	slices.SortFunc(shapes, byName)
	return shapes
}

// Forecast is what a plan makes of what was learned: the less of that and of what the template promises.
type Forecast struct {
	shapes map[string]lesson
	// cpu and memory of the sizes of a range; pods and devices are the same for all of them.
	cpu, memory curve
	others      amount.Resources
	ranged      bool
}

type lesson struct{ capacity, allocatable amount.Resources }

// NewForecast is nil where nothing was learned.
func NewForecast(pool *v1alpha1.NodePool, shapes []v1alpha1.LearnedShape) *Forecast {
	if len(shapes) == 0 {
		return nil
	}
	x := &Forecast{shapes: map[string]lesson{}, ranged: pool.Spec.Template.Range != nil}
	for i, s := range shapes {
		l := lesson{amount.Of(s.Capacity), amount.Of(s.Allocatable)}
		x.shapes[s.Name] = l
		if !x.ranged {
			continue
		}
		x.cpu = x.cpu.with(l.capacity.MilliCPU, l.allocatable.MilliCPU)
		x.memory = x.memory.with(l.capacity.Memory, l.allocatable.Memory)
		if i == 0 {
			x.others = l.allocatable.Clone()
		} else {
			x.others = x.others.Least(l.allocatable)
		}
	}
	return x
}

// Expect is what a machine of a shape will offer. It never is more than what the template says.
func (x *Forecast) Expect(name string, capacity, said amount.Resources) amount.Resources {
	if x == nil {
		return said
	}
	if l, known := x.shapes[name]; known && l.capacity.Equal(capacity) {
		return said.Least(l.allocatable)
	}
	if !x.ranged {
		return said
	}
	likely := said.Least(x.others)
	likely.MilliCPU, likely.Memory = min(said.MilliCPU, x.cpu.at(capacity.MilliCPU)), min(said.Memory, x.memory.at(capacity.Memory))
	return likely
}

// curve is how much machines of a range turn out to offer of one kind, by how much they have of it: straight lines from
// nothing through the sizes that were seen, and on beyond the last by its share. What the system keeps for itself is a
// part of the machine, so a size that was not seen is judged by its neighbours until one of it comes up.
type curve []sample

type sample struct{ has, offers int64 }

// with adds a size; of two with the same capacity the one that offers less counts.
func (c curve) with(has, offers int64) curve {
	if has <= 0 || offers <= 0 {
		return c
	}
	at, found := slices.BinarySearchFunc(c, has, func(s sample, has int64) int { return cmp.Compare(s.has, has) })
	if found {
		c[at].offers = min(c[at].offers, offers)
		return c
	}
	return slices.Insert(c, at, sample{has, offers})
}

// at is what a machine that has so much will offer.
func (c curve) at(has int64) int64 {
	if len(c) == 0 {
		return has
	}
	var from sample
	for _, to := range c {
		if has <= to.has {
			return from.offers + int64(float64(has-from.has)*float64(to.offers-from.offers)/float64(to.has-from.has))
		}
		from = to
	}
	return int64(float64(has) * float64(from.offers) / float64(from.has))
}

// holding is how much a machine must have to offer so much.
func (c curve) holding(offers int64) int64 {
	if len(c) == 0 {
		return offers
	}
	var from sample
	for _, to := range c {
		if offers <= to.offers {
			part := float64(offers-from.offers) / float64(to.offers-from.offers)
			return min(from.has+int64(math.Ceil(part*float64(to.has-from.has))), to.has)
		}
		from = to
	}
	return int64(math.Ceil(float64(offers) * float64(from.has) / float64(from.offers)))
}

// Holding is how much cpu (milli) and memory (bytes) a machine must have to offer so much.
func (x *Forecast) Holding(milliCPU, memory int64) (hasMilliCPU, hasMemory int64) {
	if x == nil {
		return milliCPU, memory
	}
	return x.cpu.holding(milliCPU), x.memory.holding(memory)
}
