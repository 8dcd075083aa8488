package world

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// World is one cluster. Its names begin with the seed, so that two clusters after another share none.
type World struct {
	Seed    uint64
	Pools   []*v1alpha1.NodePool
	Nodes   []*corev1.Node
	Bound   []*corev1.Pod // they run on Nodes, and leave room for the pods of Daemons
	Daemons []*appsv1.DaemonSet
	Storage []client.Object // in the order in which they can be created
	Pending []*corev1.Pod
}

// What all clusters share.
const (
	// Provider makes the machines of all pools.
	Provider = "sim"
	// StartupTaint is on new nodes of some pools; somebody has to take it off.
	StartupTaint = "example.com/startup"
	// Gate holds pods back.
	Gate = "example.com/gate"
	// DefaultNamespace holds the pods of a cluster without Namespaces.
	DefaultNamespace = "red"
)

// Teams are the namespaces and their labels.
func Teams() map[string]map[string]string {
	return map[string]map[string]string{
		"red":   {"team": "red", "stage": "live"},
		"green": {"team": "green", "stage": "live"},
		"blue":  {"team": "blue"},
	}
}

// PriorityClasses are their values by name; none of them preempts.
func PriorityClasses() map[string]int32 {
	return map[string]int32{"world-low": -10, "world-high": 100, "world-top": 1000}
}

// maker is the making of one world.
type maker struct {
	*World
	kinds   []Kind
	classes int
}

// New makes a world of these kinds.
func New(seed uint64, kinds ...Kind) *World {
	m := &maker{World: &World{Seed: seed}, kinds: kinds}
	m.classes = 2 + m.dice("classes").IntN(7)
	m.pools()
	m.nodes()
	m.daemons()
	m.pending()
	m.storage()
	return m.World
}

// Name is the world's own.
func (w *World) Name() string { return fmt.Sprintf("w%d", w.Seed) }

func (m *maker) has(k Kind) bool { return slices.Contains(m.kinds, k) }

// dice are thrown for one topic only: what is thrown for another changes nothing here.
func (m *maker) dice(topic string, number ...int) dice {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, topic, number)
	return dice{rand.New(rand.NewPCG(m.Seed, h.Sum64()))}
}

// kind are dice for a kind of rule; nil dice where the world has none of it.
func (m *maker) kind(k Kind, topic string, number ...int) (dice, bool) {
	return m.dice(string(k)+"/"+topic, number...), m.has(k)
}

func (m *maker) name(format string, args ...any) string {
	return m.Name() + "-" + fmt.Sprintf(format, args...)
}

type dice struct{ *rand.Rand }

// once in n throws is true.
func (d dice) once(n int) bool { return d.IntN(n) == 0 }

// between is a number from low to high, both included.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// some is one of the values, or several.
func some[T any](d dice, from ...T) []T {
	shuffled := slices.Clone(from)
	d.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return shuffled[:d.between(1, len(shuffled))]
}

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func cpu(milli int) resource.Quantity {
	return *resource.NewMilliQuantity(int64(milli), resource.DecimalSI)
}
func memory(mebi int) resource.Quantity {
	return *resource.NewQuantity(int64(mebi)<<20, resource.BinarySI)
}
func count(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
