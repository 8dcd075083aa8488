package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay/recording"
)

// Recorded is what a recording holds of a cluster: what somebody else decided, which a replay takes as it was, and what
// Muster decided, which a replay decides again.
type Recorded struct {
	// From and To are the recording's first and last moment.
	From, To time.Time
	// Pools, Providers and DaemonSets are those that existed last. Providers are simulated; machines take as long to boot
	// as those in the recording did.
	Pools      []*v1alpha1.NodePool
	Providers  []*v1alpha1.Provider
	DaemonSets []*appsv1.DaemonSet
	// Nodes are those that existed at the beginning and no claim made; Pods stood on them and were nobody's concern.
	Nodes []*corev1.Node
	Pods  []*corev1.Pod
	// Machines are what was bought, in order.
	Machines []RecordedMachine
	// Delays are DefaultDelays with nodes that become ready as fast as the recorded ones did (in the median).
	Delays  Delays
	Damages []recording.Damage
	// Skipped counts the objects that a lenient reader left out.
	Skipped int

	arrivals []Arrival
}

// RecordedMachine is one machine of a recording.
type RecordedMachine struct {
	Pool, Shape string
	// Bought and Released are since the recording's beginning; Released is negative where it was not.
	Bought, Released time.Duration
}

// Load brings the recorded pods; each call begins anew.
func (r *Recorded) Load() Load { return &arrivals{r.arrivals} }

// ReadRecording reads a recording. Pods of Muster's schedulers arrive as they did. Those that
// finished run as long as they ran; those that somebody deleted leave when they left. Pods that stood on Muster's machines at the beginning arrive then.
func ReadRecording(path string) (*Recorded, error) { return readRecording(path, false) }

// ReadRecordingLenient is ReadRecording, but leaves out objects that cannot be read, and counts them.
func ReadRecordingLenient(path string) (*Recorded, error) { return readRecording(path, true) }

func readRecording(path string, lenient bool) (*Recorded, error) {
	m := &memory{
		lenient: lenient,
		pods:    map[types.UID]*recordedPod{}, nodes: map[types.UID]*corev1.Node{}, claims: map[types.UID]*recordedClaim{},
		pools: map[types.UID]*v1alpha1.NodePool{}, providers: map[types.UID]*v1alpha1.Provider{},
		daemons: map[types.UID]*appsv1.DaemonSet{}, ours: sets.New[string](),
	}
	damages, err := recording.Read(path, m.begin, m.see)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	if len(m.pools) == 0 {
		return nil, fmt.Errorf("read the recording: %s: no NodePool in it", path)
	}
	r := m.recorded()
	r.Damages, r.Skipped = damages, m.skipped
	return r, nil
}

func (m *memory) machines() []RecordedMachine {
	var all []RecordedMachine
	for _, c := range slices.SortedFunc(maps.Values(m.claims), func(a, b *recordedClaim) int {
		return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.claim.Name, b.claim.Name))
	}) {
		one := RecordedMachine{Pool: c.claim.Spec.Pool, Shape: c.claim.Spec.Shape, Bought: c.made.Sub(m.from), Released: -1}
		if !c.released.IsZero() {
			one.Released = c.released.Sub(m.from)
		}
		all = append(all, one)
	}
	return all
}

// Bought is what a world bought, in order, for a comparison with those of a recording.
func (w *World) Bought() []RecordedMachine {
	var all []RecordedMachine
	for _, b := range w.meter.order {
		one := RecordedMachine{Pool: b.pool, Shape: b.shape, Bought: b.from.Sub(w.start), Released: -1}
		if !b.to.IsZero() {
			one.Released = b.to.Sub(w.start)
		}
		all = append(all, one)
	}
	return all
}
