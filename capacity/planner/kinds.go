package planner

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/amount"
)

// kinds are the resources that the pods of a plan ask for: cpu, memory and pods always, then the others by name.
type kinds []corev1.ResourceName

// vector is a Resources in the kinds of a plan: cpu in milli, memory in bytes, then as kinds has them. A kind that no
// pod asks for is left out; it is never short.
type vector []int64

// Where the kinds that are always there stand.
const (
	atCPU = iota
	atMemory
	atPods
)

func kindsOf(classes []*class) kinds {
	names := map[corev1.ResourceName]bool{}
	for _, c := range classes {
		if c.ask.Requests.EphemeralStorage > 0 {
			names[corev1.ResourceEphemeralStorage] = true
		}
		for name := range c.ask.Requests.Scalar {
			names[name] = true
		}
	}
	always := kinds{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
	return append(always, slices.Sorted(maps.Keys(names))...)
}

// of writes r into to, which has the length of the kinds.
func (k kinds) of(r *amount.Resources, to vector) vector {
	to[atCPU], to[atMemory], to[atPods] = r.MilliCPU, r.Memory, r.Pods
	for i := atPods + 1; i < len(k); i++ {
		if k[i] == corev1.ResourceEphemeralStorage {
			to[i] = r.EphemeralStorage
			continue
		}
		to[i] = r.Scalar[k[i]]
	}
	return to
}

// less takes b off, kind by kind.
func (a vector) less(b vector) {
	for i := range a {
		a[i] = amount.Sum(a[i], -b[i])
	}
}

// slab cuts vectors from pieces of memory: a market has thousands of them, which all live as long as the plan.
type slab struct {
	width int
	rest  []int64
}

const slabVectors = 256

func (s *slab) next() vector {
	if len(s.rest) < s.width {
		s.rest = make([]int64, slabVectors*s.width)
	}
	v := s.rest[:s.width:s.width]
	s.rest = s.rest[s.width:]
	return v
}

func (k kinds) from(r *amount.Resources) vector { return k.of(r, make(vector, len(k))) }

// holds says whether need fits into a. A kind that is not asked for is never short.
func (a vector) holds(need vector) bool {
	for i, n := range need {
		if n > 0 && n > a[i] {
			return false
		}
	}
	return true
}

// covers says whether a has no less of any kind than b.
func (a vector) covers(b vector) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}

// times is how often need fits into a, at most so often.
func (a vector) times(need vector, most int) int {
	n := int64(most)
	for i, want := range need {
		if want > 0 {
			n = min(n, max(a[i], 0)/want)
		}
	}
	return int(n)
}

// take takes need off a, n times; the caller knows that it fits so often.
func (a vector) take(need vector, n int) {
	for i, want := range need {
		if want > 0 {
			a[i] -= want * int64(n)
		}
	}
}

// put is take undone.
func (a vector) put(need vector, n int) { a.take(need, -n) }

// atMost lowers every kind of a to that of b.
func (a vector) atMost(b vector) {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
}

// atLeast raises every kind of a to that of b.
func (a vector) atLeast(b vector) {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
}
