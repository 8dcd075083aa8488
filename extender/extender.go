package extender

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
)

// Core is what the handlers ask; *capacity.Live is one.
type Core interface {
	// Known returns a pod that was seen in just this version, nil when it was not.
	Known(uid types.UID, resourceVersion string) *capacity.Pod
	// Compile reads a pod for Place.
	Compile(pod *corev1.Pod) *capacity.Pod
	// Place chooses a node and holds its room, or says why none will do.
	Place(ctx context.Context, call capacity.Call) (capacity.Placement, error)
	// Veto says why a pod must not go to a node whoever judged its fit; the zero Reason lets it pass.
	Veto(pod *corev1.Pod, node string) capacity.Reason
	// VetoObject is Veto for a node that came with the call.
	VetoObject(pod *corev1.Pod, node *corev1.Node) capacity.Reason
	// Preferences ranks nodes on which the pod fits already, each from 0 to maximum.
	Preferences(pod *corev1.Pod, nodes []string, maximum int64) []int64
}

// What a Config's zero values stand for.
const (
	DefaultMaxBody     = 32 << 20        // bytes
	DefaultMaxInFlight = 64              // calls
	DefaultTimeout     = 4 * time.Second // under the scheduler's own default of 5 s, so that it sees our answer
)

// Config is what the handlers need.
type Config struct {
	Core Core
	// Ready returns nil once the caches are warm; nil means always. Until then every verb answers 503.
	Ready func() error
	// Settled returns nil once no answer of an earlier leader can still be on its way; nil means always. Until then
	// /place/filter answers 503.
	Settled func() error
	// Now is the time that goes into holds, shortfalls and durations; mandatory.
	Now func() time.Time
	// Logger gets refused calls and panics; nil is slog.Default.
	Logger *slog.Logger
	// Registerer takes the metrics; with nil they are counted and not served.
	Registerer prometheus.Registerer
	// MaxBody is the largest body taken, in bytes.
	MaxBody int64
	// MaxInFlight is how many calls may run at a time; one more is refused with 503, never queued.
	MaxInFlight int
	// Timeout ends a call that takes longer, reading its body included.
	Timeout time.Duration
	// Shadow has every verb of both modes let everything pass: nodes, victims, and all nodes alike. Core is not asked, nor are
	// Ready and Settled, but for /readyz.
	Shadow bool
	// Observe, where given, is told of every call after its answer was written. It must not block.
	Observe func(Observation)
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.MaxBody <= 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return c
}

// New makes the handler for /place/{filter,prioritize}, /guard/{filter,prioritize,preempt}, /healthz and /readyz.
func New(cfg Config) http.Handler {
	cfg = cfg.withDefaults()
	g := newGate(cfg)
	router := chi.NewRouter()
	router.NotFound(notFound)
	router.MethodNotAllowed(methodNotAllowed)
	router.Get("/healthz", health(nil))
	router.Get("/readyz", health(cfg.Ready))
	cfg.route(router, g)
	return router
}

// route gives every verb its path.
func (c Config) route(router chi.Router, g *gate) {
	v := vetoer{c.Core}
	place, ready, settled := placer{c.Core, c.Now, c.Logger}.filter, c.Ready, c.Settled
	if c.Shadow {
		v = vetoer{bystander{}}
		place, ready, settled = v.filter, nil, nil
	}
	router.Post("/place/filter", g.serve("place/filter", place, ready, settled))
	router.Post("/place/prioritize", g.serve("place/prioritize", v.prioritize, ready))
	router.Post("/guard/filter", g.serve("guard/filter", v.filter, ready))
	router.Post("/guard/prioritize", g.serve("guard/prioritize", v.prioritize, ready))
	router.Post("/guard/preempt", g.serve("guard/preempt", v.preempt, ready))
}
