package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/muster-sh/muster/replay"
)

// openWorlds makes a world for each policy.
func openWorlds(f replayFlags, in input, runs []policyRun) (worlds []*replay.World, closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for _, c := range closers {
			c()
		}
	}
	for _, run := range runs {
		options, closeInput, err := in.options(run.pools)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		closers = append(closers, closeInput)
		options.Seed, options.Exact = f.seed, f.exact
		if f.html != "" {
			options.Timeline = replay.NewTimeline()
		}
		world, err := replay.New(options)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("begin the replay: %w", err)
		}
		worlds = append(worlds, world)
	}
	return worlds, closeAll, nil
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
