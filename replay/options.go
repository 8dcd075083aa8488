package replay

import (
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/policy"
)

// Scheduler is the name of the world's scheduler: pods that carry it are placed by Muster.
const Scheduler = "muster"

// Options say what a world begins with.
type Options struct {
	Pools     []*v1alpha1.NodePool
	Providers []*v1alpha1.Provider
	// Nodes that exist already and belong to nobody, and the pods and DaemonSets on them. Pods without a node arrive at
	// the start.
	Nodes         []*corev1.Node
	Pods          []*corev1.Pod
	DaemonSets    []*appsv1.DaemonSet
	DeviceClasses []*resourcev1.DeviceClass
	// Namespaces are what namespaceSelectors are compared with; a namespace that is not among them has no labels.
	Namespaces []*corev1.Namespace
	// Storage are volumes, claims, classes and what CSI drivers say of nodes. They stay as they are: a claim that waits
	// for its first consumer is judged by what could be made for it, and is never seen bound.
	Storage []metav1.Object

	Load Load
	// Start is the world's first moment, from Zero; without it, the first arrival's.
	Start *time.Duration
	// Seed alters boot times and failures of the simulated machines.
	Seed int64
	// Apart is how long after one machine of a Provider the next one comes at the earliest, in the order of names; without
	// it each comes in its own time.
	Apart time.Duration
	// Tail is how long the world goes on after the last pod arrived, was placed or ended, when pods still wait then; an
	// hour unless given.
	Tail time.Duration
	// Delays are DefaultDelays unless given.
	Delays *Delays
	// Batch is policy.DefaultBatch unless given.
	Batch *policy.Batch
	// Settle is how long a restarted Muster answers no filter call; 5 s unless given. A world's first Muster is settled.
	Settle *time.Duration
	// Exact has the scheduler try a refused pod again at every event, as kube-scheduler does. Without it, retries that
	// cannot but fail again are left out, which alters the order of pods by the milliseconds that they took, and makes
	// large replays much faster.
	Exact bool
	// Log gets what Muster logs; nothing is logged without it.
	Log *slog.Logger
	// Note is told what happens, as it happens.
	Note func(Note)
	// Decide says which nodes go; reaper.Decide unless given. Another rule is something to compare with.
	Decide func(*capacity.View, reaper.Memory, time.Time) reaper.Decision
	// Observe is told of every version of an object and of its end, as a recorder wants it.
	Observe func(o metav1.Object, gone bool)
	// Timeline, where given, is filled for whoever wants to draw what happened.
	Timeline *Timeline
}

func (o *Options) fill() {
	if o.Tail == 0 {
		o.Tail = time.Hour
	}
	if o.Delays == nil {
		d := DefaultDelays()
		o.Delays = &d
	}
	if o.Batch == nil {
		b := policy.DefaultBatch
		o.Batch = &b
	}
	if o.Settle == nil {
		s := 5 * time.Second
		o.Settle = &s
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Decide == nil {
		o.Decide = reaper.Decide
	}
	if o.Note == nil {
		o.Note = func(Note) {}
	}
}
