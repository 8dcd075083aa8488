package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-sh/muster/capacity/control"
)

// World is a cluster in memory with a Muster in it. It is used by one goroutine at a time.
type World struct {
	options   Options
	agenda    *agenda
	api       *api
	kube      *kube
	machines  *machines
	pods      *pods
	scheduler *scheduler
	backends  backends
	meter     *meter
	muster    *muster
	start     time.Time
	latest    time.Time // when a pod last arrived, was placed or ended
	loaded    bool      // the load has no more arrivals
	failed    error
	steps     int
}

// New makes a world at its first moment.
func New(o Options) (*World, error) {
	o.fill()
	first, err := o.Load.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	w := &World{options: o, loaded: err != nil, agenda: &agenda{}}
	w.start = Zero.Add(first.At)
	if o.Start != nil {
		w.start = Zero.Add(*o.Start)
	}
	w.agenda.now, w.latest = w.start, w.start
	if err := w.build(); err != nil {
		return nil, err
	}
	w.populate()
	w.muster = w.newMuster(0)
	if !w.loaded {
		w.expect(first)
	}
	return w, nil
}

// Now is the world's time.
func (w *World) Now() time.Time { return w.agenda.now }

// Kill ends Muster as SIGKILL does. The rest of the world goes on.
func (w *World) Kill() {
	if w.muster != nil {
		w.muster.stop()
		w.muster = nil
	}
}

// Revive starts a new Muster, which knows nothing but what the API server and the providers tell it.
func (w *World) Revive() {
	w.Kill()
	w.muster = w.newMuster(*w.options.Settle)
}

// expect has an arrival come in its time, and then asks the load for the next one.
func (w *World) expect(a Arrival) {
	w.agenda.at(Zero.Add(a.At), func() {
		w.pods.arrive(a)
		next, err := w.options.Load.Next()
		switch {
		case errors.Is(err, io.EOF):
			w.loaded = true
		case err != nil:
			w.failed = err
		default:
			w.expect(next)
		}
	})
}

func (w *World) podMoved(from, to lifeState, l *life) {
	w.latest = w.agenda.now
	w.meter.moved(from, to, l)
}

// Step does the next thing there is to do, and returns false when nothing is left or the world is over.
func (w *World) Step() bool {
	if w.failed != nil || w.over() || !w.agenda.next() {
		return false
	}
	w.steps++
	w.machines.poll()
	if w.muster != nil {
		w.muster.poll()
	}
	if t := w.options.Timeline; t != nil {
		t.observe(w.moment())
	}
	return true
}

// Ended says whether nothing is left to happen.
func (w *World) Ended() bool {
	_, more := w.agenda.upcoming()
	return w.failed != nil || w.over() || !more
}

// over says whether pods only wait in vain.
func (w *World) over() bool {
	return w.loaded && w.pods.timed == 0 && w.agenda.now.Sub(w.latest) > w.options.Tail
}

// RunUntil steps up to a moment, which the world's clock then shows; false when the world ended before.
func (w *World) RunUntil(t time.Time) bool {
	for {
		at, ok := w.agenda.upcoming()
		if !ok || w.over() || w.failed != nil {
			return false
		}
		if at.After(t) {
			break
		}
		w.Step()
	}
	w.agenda.now = t
	return true
}

// Run steps to the end. When ctx ends, it stops where it is and returns the context's error; the world may be summed up
// then as well.
func (w *World) Run(ctx context.Context) error {
	for w.Step() {
		if w.steps%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if w.failed != nil {
		return fmt.Errorf("read the load: %w", w.failed)
	}
	return nil
}

func (w *World) event(about control.Subject, warning bool, reason, message string) {
	w.options.Note(Note{At: w.agenda.now, Kind: about.Kind, Name: about.Name, Reason: reason, Message: message, Warning: warning})
}
