package topology

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// demand is a label value that a selector insists on, in a namespace or in any.
type demand struct{ namespace, key, value string }

// demanded is a label that a selector wants to have one certain value, if there is such a label: almost every selector
// names the application.
func demanded(s labels.Selector) (key, value string, ok bool) {
	requirements, _ := s.Requirements()
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				return r.Key(), values[0], true
			}
		}
	}
	return "", "", false
}

// anyNamespace is no name that a namespace can have.
const anyNamespace = "*"

// selectors finds those that may match a pod without asking all of them.
type selectors[T any] struct {
	keys     map[string]bool
	byDemand map[demand][]T
	rest     map[string][]T // without a demand, by namespace
}

// add takes in a group whose selector looks at the given namespaces, nil for any.
func (x *selectors[T]) add(namespaces []string, s labels.Selector, group T) {
	if namespaces == nil {
		namespaces = []string{anyNamespace}
	}
	if x.keys == nil {
		x.keys, x.byDemand, x.rest = map[string]bool{}, map[demand][]T{}, map[string][]T{}
	}
	key, value, ok := demanded(s)
	for _, namespace := range namespaces {
		if !ok {
			x.rest[namespace] = append(x.rest[namespace], group)
			continue
		}
		x.keys[key] = true
		d := demand{namespace, key, value}
		x.byDemand[d] = append(x.byDemand[d], group)
	}
}

// candidates are the groups that may match; each still has to be asked.
func (x *selectors[T]) candidates(namespace string, pod Labels) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, within := range [...]string{namespace, anyNamespace} {
			if !yieldAll(x.rest[within], yield) {
				return
			}
			for key, value := range pod.All() {
				if x.keys[key] && !yieldAll(x.byDemand[demand{within, key, value}], yield) {
					return
				}
			}
		}
	}
}

func yieldAll[T any](list []T, yield func(T) bool) bool {
	for _, x := range list {
		if !yield(x) {
			return false
		}
	}
	return true
}

// census finds the populations that a selector may match.
type census struct {
	all     map[populationKey]*population
	inOrder []*population
	by      map[string]map[demand][]*population // for labels that selectors insisted on
	within  map[string][]*population            // by namespace
}

type populationKey struct {
	namespace   string
	labels      Labels
	terminating bool
}

// population is all pods that no selector tells apart.
type population struct {
	populationKey
	standing []spot  // pods that were there from the start
	kinds    []*Kind // of such pods; what was put since is theirs
}

// spot is a number of pods on a site.
type spot struct {
	site      *Site
	n         int32
	scattered bool // each on a machine of its own: see Cluster.Field
}

func newCensus() census {
	return census{
		all: map[populationKey]*population{}, by: map[string]map[demand][]*population{},
		within: map[string][]*population{},
	}
}

func (c *census) of(key populationKey) *population {
	if p := c.all[key]; p != nil {
		return p
	}
	p := &population{populationKey: key}
	c.all[key] = p
	c.inOrder = append(c.inOrder, p)
	c.within[p.namespace] = append(c.within[p.namespace], p)
	for label, known := range c.by {
		file(known, label, p)
	}
	return p
}

func file(known map[demand][]*population, label string, p *population) {
	if value, ok := p.labels.Lookup(label); ok {
		for _, namespace := range []string{p.namespace, anyNamespace} {
			d := demand{namespace, label, value}
			known[d] = append(known[d], p)
		}
	}
}

// candidates are the populations that a selector may match in the given namespaces, nil for any.
func (c *census) candidates(namespaces []string, s labels.Selector) []*population {
	key, value, ok := demanded(s)
	if !ok {
		return c.residents(namespaces)
	}
	known := c.by[key]
	if known == nil {
		known = map[demand][]*population{}
		c.by[key] = known
		for _, p := range c.inOrder {
			file(known, key, p)
		}
	}
	if namespaces == nil {
		return known[demand{anyNamespace, key, value}]
	}
	var out []*population
	for _, namespace := range namespaces {
		out = append(out, known[demand{namespace, key, value}]...)
	}
	return out
}

func (c *census) residents(namespaces []string) []*population {
	if namespaces == nil {
		return c.inOrder
	}
	var out []*population
	for _, namespace := range namespaces {
		out = append(out, c.within[namespace]...)
	}
	return out
}
