package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/replay"
)

// demoFlags are what `muster demo` is asked.
type demoFlags struct {
	speed float64
	seed  int64
	out   string
}

func newDemoCommand(stdout io.Writer) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Tell the whole story on the built-in simulator, in under a minute",
		Long: `Demo runs a cluster in memory: load arrives, pods lack room, machines are ordered and join, pods land on them, load
leaves, idle machines go. The planner, the handlers and the loops are those of serve; nothing is installed or called.

It exits with 1 when the story does not end as it must: every pod served, no machine left, nothing leaked.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(f.speed >= 0 && f.speed <= 1e6) {
				return fmt.Errorf("--speed %g: use a number from 0 (as fast as it goes) to 1e6", f.speed)
			}
			return runDemo(cmd.Context(), f, stdout)
		},
	}
	fs := cmd.Flags()
	fs.Float64Var(&f.speed, "speed", 10, "seconds of the story in one second; 0 is as fast as it goes")
	fs.Int64Var(&f.seed, "seed", 0, "alters boot times")
	fs.StringVar(&f.out, "out", "", "folder to write events.jsonl, summary.json and picture.html to")
	return cmd
}

func runDemo(ctx context.Context, f demoFlags, stdout io.Writer) error {
	if f.out != "" {
		if err := makeFolder(f.out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	options, err := replay.Story(f.seed)
	if err != nil {
		return err
	}
	journal := new(replay.Journal)
	show := newScreen(stdout, f.speed)
	options.Note = func(n replay.Note) {
		journal.Note(n)
		show.note(n)
	}
	options.Timeline = replay.NewTimeline()
	world, err := replay.New(options)
	if err != nil {
		return err
	}
	err = tell(ctx, world, f.speed, func() { show.draw(world) })
	show.close(world)
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return err
	}
	return endDemo(world, journal, f, interrupted, stdout)
}

// endDemo sums the story up, writes it down, and says whether it ended as it must.
func endDemo(world *replay.World, journal *replay.Journal, f demoFlags, interrupted bool, stdout io.Writer) error {
	summary := world.Summary()
	summary.Interrupted = interrupted
	fmt.Fprintln(stdout)
	if err := summary.WriteText(stdout); err != nil {
		return err
	}
	if f.out != "" {
		if err := writeStory(f.out, summary, journal, world.Timeline()); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		fmt.Fprintf(stdout, "\nwritten to %s: %s\n", f.out, "events.jsonl, summary.json, picture.html")
	}
	if interrupted {
		return nil
	}
	if wrong := world.Ends(); wrong != "" {
		return fmt.Errorf("the story did not end as it must: %s", wrong)
	}
	fmt.Fprintln(stdout, "\nevery pod was served, every machine was given back, nothing was left behind")
	return nil
}

// frame is the time between two looks at the world.
const frame = 50 * time.Millisecond

// tell runs the world against the wall clock, or as fast as it goes, and calls look after every step of time.
func tell(ctx context.Context, world *replay.World, speed float64, look func()) error {
	if speed == 0 {
		for world.Step() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			look()
		}
		return nil
	}
	began, from := time.Now(), world.Now()
	ticker := time.NewTicker(frame)
	defer ticker.Stop()
	for world.RunUntil(from.Add(time.Duration(float64(time.Since(began)) * speed))) {
		look()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	look()
	return nil
}
