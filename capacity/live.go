package capacity

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/volume"
	"github.com/muster-sh/muster/provider/gate"
)

// Live is the cluster as Muster sees it now, kept up to date one object at a time for the filter path. It is safe for
// concurrent use and does no I/O. Decisions that take longer work on View, its frozen copy.
type Live struct {
	mu         sync.Mutex
	schedulers Schedulers
	asks       *Compiler

	nodes              map[string]*entry
	present            int                      // how many of them are there as Nodes
	claimed            multimap[string, *entry] // by the name of their claim
	byProvider, byUUID multimap[string, *entry]

	pods     map[types.UID]*Pod
	holds    map[types.UID]*hold
	unasked  map[types.UID]*hold // those of them that a scheduler does not count with yet
	daemons  map[types.UID]*Daemon
	claims   claimIndex
	pools    map[string]*v1alpha1.NodePool
	backends map[string]*v1alpha1.Provider
	served   map[string]corev1.ResourceName // DeviceClass name -> the extended resource it names, or none
	classes  Classes
	budgets  disruptionBudgets
	storage  volume.Inventory
	promises uint64 // made so far
	ledger   ledger
	calls    *callLog
	heard    time.Time // when a place scheduler last asked about any pod
	pulse    pulse

	namespaces       Namespaces
	namespacesShared bool // with a View

	gone       *lru.Cache[types.UID, bool] // pods and claims that were deleted
	generation uint64                      // rises with every change that a decision may depend on
	answers    uint64                      // rises with every change of a node: refusals are valid for one value
	refusals   refusals
	opinions   opinions
	seats      seats
	revisions  uint64             // the last one given to an entry
	turn       uint64             // of choose
	head       entry              // its next is the first node of the last call
	offered    []*entry           // scratch of choose
	whys       []Reason           // scratch of choose: most calls find a node, and need no reasons
	placed     map[types.UID]*Pod // bound, and their condition still says they wait
	strangers  time.Time
	waning     []*entry // those that are marked so
	listeners  []chan struct{}

	unheard   map[types.UID]time.Time // pending pods of ours by when they were first seen; some were heard of by now
	nominated map[types.UID]bool      // pods that were ever seen with status.nominatedNodeName
	naming    map[types.UID]string    // where this process nominates pods
	expected  map[types.UID]string    // where the last plan sends pods that fit
	turns     map[types.UID]int       // in which order
	reserving int                     // pods that room is kept for, on all nodes
	shy       int                     // those of them, and of the unasked holds, that keep others off by more than room: see companyFor
	keeping   map[*entry]bool         // nodes that keep room
	arrivals  map[string]*arrival     // machines on their way that keep room, by claim
	wary      int                     // pods that wait and are shy
	took      map[types.UID][]string  // see Claim.Took, by claim
	templates map[string]*Template    // by pool
	moves     uint64                  // of pods: how often one came to stand somewhere, or left
	freeze    gate.Freeze             // as last read
}

// Schedulers says whose pods are Muster's business.
type Schedulers struct {
	Place sets.Set[string] // Muster finds the node for their pods
	Guard sets.Set[string] // Muster only buys for their pods
}

// Ours says whether a pod of this scheduler may be demand.
func (s Schedulers) Ours(name string) bool { return s.Place.Has(name) || s.Guard.Has(name) }

// NewLive makes an empty cluster.
func NewLive(schedulers Schedulers) *Live {
	return &Live{
		keeping: map[*entry]bool{}, arrivals: map[string]*arrival{}, unheard: map[types.UID]time.Time{}, nominated: map[types.UID]bool{}, naming: map[types.UID]string{}, took: map[types.UID][]string{}, templates: map[string]*Template{},
		schedulers: schedulers, asks: NewCompiler(), calls: newCallLog(), gone: newCache[types.UID, bool](rememberedGone),
		nodes: map[string]*entry{}, claimed: multimap[string, *entry]{},
		byProvider: multimap[string, *entry]{}, byUUID: multimap[string, *entry]{},
		pods: map[types.UID]*Pod{}, holds: map[types.UID]*hold{}, unasked: map[types.UID]*hold{}, placed: map[types.UID]*Pod{},
		daemons: map[types.UID]*Daemon{}, claims: newClaimIndex(), ledger: newLedger(), refusals: newRefusals(), opinions: newOpinions(),
		pools: map[string]*v1alpha1.NodePool{}, backends: map[string]*v1alpha1.Provider{},
		served: map[string]corev1.ResourceName{}, classes: Classes{}, budgets: disruptionBudgets{},
	}
}

// Changed returns a channel that is poked after changes that may alter a decision. It holds one poke: who reads it
// looks at everything.
func (l *Live) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{}, 1)
	l.listeners = append(l.listeners, c)
	return c
}

// changed is called with the lock held.
func (l *Live) changed() {
	l.generation++
	for _, c := range l.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// SetPool takes in a pool. An older version than the one known changes nothing, nor does a pool that is known to be gone: a pool
// just written is taken in at once, and the watch may still deliver what was there before.
func (l *Live) SetPool(p *v1alpha1.NodePool) {
	template := l.templateOf(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.pools[p.Name]; l.isGone(p.UID) || old != nil && olderVersion(p, old) {
		return
	}
	l.pools[p.Name], l.templates[p.Name] = p, template
	l.changed()
}

// Pool returns one pool, nil when there is none of this name.
func (l *Live) Pool(name string) *v1alpha1.NodePool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pools[name]
}

// isGone says whether an object is known to have been deleted.
func (l *Live) isGone(uid types.UID) bool { return uid != "" && l.gone.Contains(uid) }

// ForgetPool drops a pool that was deleted.
func (l *Live) ForgetPool(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.pools[name]; old != nil && old.UID != "" {
		l.gone.Add(old.UID, true)
	}
	delete(l.pools, name)
	delete(l.templates, name)
	l.changed()
}

// SetProvider takes in a provider, as SetPool does a pool.
func (l *Live) SetProvider(p *v1alpha1.Provider) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.backends[p.Name]; l.isGone(p.UID) || old != nil && olderVersion(p, old) {
		return
	}
	l.backends[p.Name] = p
	l.changed()
}

// ForgetProvider drops a provider that was deleted.
func (l *Live) ForgetProvider(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.backends[name]; old != nil && old.UID != "" {
		l.gone.Add(old.UID, true)
	}
	delete(l.backends, name)
	l.changed()
}

// Providers returns the providers by name.
func (l *Live) Providers() []*v1alpha1.Provider {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Values(l.backends))
	slices.SortFunc(all, func(a, b *v1alpha1.Provider) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Provider returns one provider, nil when there is none of this name.
func (l *Live) Provider(name string) *v1alpha1.Provider {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.backends[name]
}
