package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/muster-sh/muster/replay"
)

// openWorlds makes a world for each policy. Each reads the trace for itself, so that none waits for another.
func openWorlds(f replayFlags, runs []policyRun) (worlds []*replay.World, trace *replay.Trace, closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for _, c := range closers {
			c()
		}
	}
	for _, run := range runs {
		load, closeTrace, err := openTrace(f, run.pools)
		if err != nil {
			closeAll()
			return nil, nil, nil, fmt.Errorf("read --trace: %w", err)
		}
		trace, closers = load, append(closers, closeTrace)
		world, err := openWorld(f, run, load)
		if err != nil {
			closeAll()
			return nil, nil, nil, err
		}
		worlds = append(worlds, world)
	}
	return worlds, trace, closeAll, nil
}

func openWorld(f replayFlags, run policyRun, trace *replay.Trace) (*replay.World, error) {
	options := replay.Options{
		Pools: run.pools.Pools, Providers: run.pools.Providers, Load: trace, Seed: f.seed, Exact: f.exact,
	}
	if f.html != "" {
		options.Timeline = replay.NewTimeline()
	}
	if err := readReplayNodes(f, &options); err != nil {
		return nil, fmt.Errorf("read --nodes: %w", err)
	}
	world, err := replay.New(options)
	if err != nil {
		return nil, fmt.Errorf("read --trace: %w", err)
	}
	return world, nil
}

// compareWorlds sums the worlds up as they stand.
func compareWorlds(runs []policyRun, worlds []*replay.World, figure replay.WaitFigure, interrupted bool) (replay.Comparison,
	[]*replay.Timeline,
) {
	outcomes := make([]replay.Outcome, len(runs))
	lines := make([]*replay.Timeline, len(runs))
	for i, world := range worlds {
		outcomes[i] = replay.Outcome{Name: runs[i].name, Settings: runs[i].settings, Summary: world.Summary()}
		outcomes[i].Interrupted = interrupted && !world.Ended()
		lines[i] = world.Timeline()
	}
	return replay.Compare(outcomes, figure), lines
}

func pageTitle(f replayFlags) string { return "Replay of " + filepath.Base(f.trace) }

// writeReplay writes a comparison, or the plain summary of a policy that has none beside it.
func writeReplay(c replay.Comparison, output string, w io.Writer) error {
	single := len(c.Policies) == 1
	switch {
	case output == "json" && single:
		return writeJSON(w, c.Policies[0].Summary)
	case output == "json":
		return writeJSON(w, c)
	case single:
		return c.Policies[0].WriteText(w)
	}
	return c.WriteText(w)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
