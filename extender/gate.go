package extender

import (
	"context"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"

	"github.com/go-chi/chi/v5/middleware"
)

// gate is what every call of every verb passes: counted, limited, capped, dated, and caught when it panics.
type gate struct {
	cfg      Config
	metrics  metrics
	log      *slog.Logger
	slots    chan struct{}
	arrivals atomic.Uint64
}

func newGate(cfg Config) *gate {
	return &gate{
		cfg: cfg, metrics: newMetrics(cfg.Registerer), log: cfg.Logger, slots: make(chan struct{}, cfg.MaxInFlight),
	}
}

// call is one request as a verb sees it.
type call struct {
	// number rises with the order of arrival, over all verbs.
	number uint64
	body   []byte
	seen   *Observation // nil unless somebody observes
}

// verb decides one call and appends its answer. The body is gone when it returns.
type verb func(ctx context.Context, c call, answer []byte) ([]byte, error)

// serve puts a verb behind the gate. Checks are asked before the body is read.
func (g *gate) serve(name string, v verb, checks ...func() error) http.HandlerFunc {
	return func(raw http.ResponseWriter, r *http.Request) {
		number, start := g.arrivals.Add(1), g.cfg.Now()
		w := middleware.NewWrapResponseWriter(raw, r.ProtoMajor)
		var seen *Observation
		if g.cfg.Observe != nil {
			seen = &Observation{Verb: name, Number: number}
		}
		defer func() {
			if p := recover(); p != nil {
				seen.fails(&refusal{cause: causeInternal})
				g.panicked(w, name, p)
			}
			took := g.cfg.Now().Sub(start)
			g.metrics.duration.WithLabelValues(name).Observe(took.Seconds())
			g.metrics.requests.WithLabelValues(name, strconv.Itoa(w.Status())).Inc()
			if seen != nil {
				seen.Took = took
				g.cfg.Observe(*seen)
			}
		}()
		if no := g.pass(w, r, v, call{number: number, seen: seen}, checks); no != nil {
			seen.fails(no)
			g.refuse(w, name, no)
		}
	}
}

// pass takes a call through, or says why it gets no decision.
func (g *gate) pass(w http.ResponseWriter, r *http.Request, v verb, c call, checks []func() error) *refusal {
	if !g.enter() {
		w.Header().Set("Retry-After", "1")
		return &refusal{http.StatusServiceUnavailable, causeInFlight, "too many calls at a time"}
	}
	defer g.leave()
	if no := g.admit(r, checks); no != nil {
		return no
	}
	if err := g.answer(w, r, v, c); err != nil {
		return refusalOf(err)
	}
	return nil
}

func (g *gate) enter() bool {
	select {
	case g.slots <- struct{}{}:
		g.metrics.inFlight.Inc()
		return true
	default:
		return false
	}
}

func (g *gate) leave() {
	<-g.slots
	g.metrics.inFlight.Dec()
}

// admit judges a call by all but its body.
func (g *gate) admit(r *http.Request, checks []func() error) *refusal {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &refusal{http.StatusUnsupportedMediaType, causeMediaType, fmt.Sprintf(
			"content type %q is not accepted, application/json is", r.Header.Get("Content-Type"))}
	}
	if r.ContentLength > g.cfg.MaxBody {
		return tooLarge(g.cfg.MaxBody)
	}
	for _, check := range checks {
		if check == nil {
			continue
		}
		if err := check(); err != nil {
			return unready(err)
		}
	}
	return nil
}

// answer reads the body, asks the verb and writes what it says, all within the timeout.
func (g *gate) answer(w http.ResponseWriter, r *http.Request, v verb, c call) error {
	ctx, cancel := context.WithTimeout(r.Context(), g.cfg.Timeout)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		// Not every ResponseWriter can; then the context alone ends the call, after its body was read.
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	in, out := takeBuffer(), takeBuffer()
	defer giveBuffer(in)
	defer giveBuffer(out)
	if err := in.read(w, r, g.cfg.MaxBody); err != nil {
		return unread(err, g.cfg.MaxBody)
	}
	c.body = in.bytes
	answer, err := v(ctx, c, out.bytes)
	if err != nil {
		return err
	}
	out.bytes = answer
	write(w, http.StatusOK, "application/json", answer)
	return nil
}

// refuse answers, counts and tells: kube-scheduler logs the status only, so the text is ours to keep. What passes by
// itself is not worth a warning.
func (g *gate) refuse(w http.ResponseWriter, verb string, r *refusal) {
	g.metrics.refused.WithLabelValues(string(r.cause)).Inc()
	level := slog.LevelWarn
	if r.status == http.StatusServiceUnavailable {
		level = slog.LevelDebug
	}
	g.log.Log(context.Background(), level, "call refused", "verb", verb, "code", r.status, "cause", r.cause, "why", r.text)
	writeError(w, r.status, r.text)
}

func (g *gate) panicked(w middleware.WrapResponseWriter, verb string, p any) {
	g.metrics.panics.Inc()
	g.log.Error("call panicked", "verb", verb, "panic", p, "stack", string(debug.Stack()))
	if w.Status() == 0 {
		writeError(w, http.StatusInternalServerError, "internal error")
	}
}
