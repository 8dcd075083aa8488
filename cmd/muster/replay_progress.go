package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/muster-sh/muster/replay"
)

// isTerminal says whether somebody may be looking.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor is small
}

// progress shows one line about a replay, drawn over and over.
type progress struct {
	visible bool
	w       io.Writer
	began   time.Time
}

func newProgress(visible bool, w io.Writer) *progress {
	return &progress{visible: visible, w: w, began: time.Now()}
}

const redrawEvery = 200 * time.Millisecond

// run takes a world to its end, or to where it is when ctx ends.
func (p *progress) run(ctx context.Context, world *replay.World) error {
	if !p.visible {
		return world.Run(ctx)
	}
	defer fmt.Fprint(p.w, "\r\x1b[K")
	for {
		slice, cancel := context.WithTimeout(ctx, redrawEvery)
		err := world.Run(slice)
		over := slice.Err() == nil || ctx.Err() != nil
		cancel()
		if over {
			return err
		}
		p.draw(world.Status())
	}
}

func (p *progress) draw(s replay.Status) {
	fmt.Fprintf(p.w, "\r\x1b[K%s of the trace at %s: %d pods came, %d wait, %d run, %d ended; %d nodes",
		s.At.Round(time.Second), time.Since(p.began).Round(time.Second), s.Arrived, s.Waiting, s.Running, s.Finished, s.Nodes)
}
