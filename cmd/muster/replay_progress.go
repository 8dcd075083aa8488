package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/muster-sh/muster/replay"
)

// isTerminal says whether somebody may be looking.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor is small
}

// progress shows one line about the worlds under way, drawn over and over.
type progress struct {
	visible bool
	w       io.Writer
	began   time.Time

	mu    sync.Mutex
	stand []replay.Status // of each world
	done  int
	drawn time.Time
}

func newProgress(visible bool, w io.Writer, worlds int) *progress {
	return &progress{visible: visible, w: w, began: time.Now(), stand: make([]replay.Status, worlds)}
}

const redrawEvery = 200 * time.Millisecond

// runAll takes all worlds to their end, one on each processor, or to where they are when ctx ends.
func (p *progress) runAll(ctx context.Context, worlds []*replay.World) error {
	if p.visible {
		defer fmt.Fprint(p.w, "\r\x1b[K")
	}
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, world := range worlds {
		all.Go(func() error { return p.run(ctx, i, world) })
	}
	return all.Wait()
}

func (p *progress) run(ctx context.Context, i int, world *replay.World) error {
	for {
		slice, cancel := context.WithTimeout(ctx, redrawEvery)
		err := world.Run(slice)
		if errors.Is(err, context.DeadlineExceeded) { // of the slice, which may end in the moment of an interruption
			err = ctx.Err()
		}
		over := err != nil || slice.Err() == nil || world.Ended()
		cancel()
		p.tell(i, world.Status(), over)
		if over {
			return err
		}
	}
}

func (p *progress) tell(i int, s replay.Status, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stand[i] = s
	if over {
		p.done++
	}
	if now := time.Now(); p.visible && now.Sub(p.drawn) >= redrawEvery {
		p.drawn = now
		p.draw()
	}
}

// draw shows the sum of all worlds, and how far the foremost is.
func (p *progress) draw() {
	var sum replay.Status
	for _, s := range p.stand {
		sum.At = max(sum.At, s.At)
		sum.Arrived += s.Arrived
		sum.Waiting += s.Waiting
		sum.Running += s.Running
		sum.Finished += s.Finished
		sum.Nodes += s.Nodes
	}
	of := ""
	if len(p.stand) > 1 {
		of = fmt.Sprintf("%d of %d policies done, ", p.done, len(p.stand))
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s%s of the trace at %s: %d pods came, %d wait, %d run, %d ended; %d nodes",
		of, sum.At.Round(time.Second), time.Since(p.began).Round(time.Second), sum.Arrived, sum.Waiting, sum.Running, sum.Finished,
		sum.Nodes)
}
