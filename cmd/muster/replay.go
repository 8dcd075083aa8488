package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/replay"
	"github.com/muster-sh/muster/replay/page"
)

// replayFlags are what `muster replay` is asked.
type replayFlags struct {
	pools, sweeps   []string
	trace, nodes    string
	recording       string
	manifests       []string
	shape           string
	from, until     float64
	seed            int64
	gpu             string
	output, html    string
	wait            string
	lenient, exact  bool
	progress        string
	progressVisible bool
}

func newReplayCommand(stdout, stderr io.Writer) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --pools FILE --trace FILE | replay --pools FILE --manifests FILE --shape FILE | replay --recording FOLDER",
		Short: "Run a trace, manifests or a recording against policies in virtual time, and say what was bought and how long pods waited",
		Long: `Replay runs the pods of a trace, of manifests with a load shape, or of what muster serve --record wrote, through the same
handlers, planner, lifecycle and reaper as serve does, in virtual
time and on simulated machines. It talks to nobody. The same input and seed give the same output.

Each --pools is a policy; several are compared. --sweep makes of each policy one for each value of a field of its pools.

docs/replay.md describes the trace's columns, the shape, the page that --html writes, and the JSON output.`,
		Example: `  muster replay --pools pools.yaml --trace pods.csv
  muster replay --pools today=pools.yaml --pools thrifty=other.yaml,providers.yaml --trace pods.csv --html compare.html
  muster replay --pools pools.yaml --trace pods.csv --sweep idleAfter=2m,5m,10m,30m
  muster replay --pools pools.yaml --manifests apps.yaml --shape day.yaml --seed 7
  muster replay --pools pools.yaml --trace pods.csv.gz --nodes nodes.csv --from 86400 --output json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(stderr); err != nil {
				return err
			}
			return runReplay(cmd.Context(), f, stdout, stderr)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *replayFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.pools, "pools", nil, "a policy: [NAME=]FILE[,FILE...] with NodePools and Providers; repeat it to compare")
	fs.StringArrayVar(&f.sweeps, "sweep", nil, "FIELD=VALUE,VALUE...: try every value of a NodePool's field (repeat it for all combinations)")
	fs.StringVar(&f.wait, "wait", string(replay.WaitMean), "the wait that is set against cost: mean, p50, p90, p99 or max")
	fs.StringVar(&f.html, "html", "", "file to draw what happened to: one page that needs no network")
	fs.StringVar(&f.trace, "trace", "", "CSV file of pods, plain or gzip")
	fs.StringSliceVar(&f.manifests, "manifests", nil, "files with Deployments, ReplicaSets, StatefulSets, Jobs, Pods and DaemonSets, instead of a trace")
	fs.StringVar(&f.shape, "shape", "", "file that says how the pods of --manifests come and go over time")
	fs.StringVar(&f.recording, "recording", "", "what muster serve --record wrote, instead of a trace: its own pools are a policy, --pools are set beside")
	fs.StringVar(&f.nodes, "nodes", "", "nodes that exist already: a CSV file, or a saved cluster in YAML or JSON")
	fs.Float64Var(&f.from, "from", 0, "leave out pods that arrived earlier, in seconds of the trace")
	fs.Float64Var(&f.until, "until", 0, "leave out pods that arrived then or later, in seconds of the trace; 0 is no bound")
	fs.Int64Var(&f.seed, "seed", 0, "alters boot times and failures of the simulated machines, and what a shape leaves to chance")
	fs.StringVar(&f.gpu, "gpu", string(replay.GPUWhole), "count GPUs as whole (nvidia.com/gpu) or milli (muster.sh/gpu-milli)")
	fs.StringVarP(&f.output, "output", "o", "text", "text or json")
	fs.BoolVar(&f.lenient, "lenient", false, "leave out bad rows of a trace, bad objects of manifests and bad entries of a recording, and count them")
	fs.BoolVar(&f.exact, "exact", false, "try a refused pod again at every event, as kube-scheduler does; much slower")
	fs.StringVar(&f.progress, "progress", "auto", "show progress on stderr: auto (when it is a terminal), on or off")
}

// check refuses flags that make no sense.
func (f *replayFlags) check(stderr io.Writer) error {
	switch {
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("--output %q: use text or json", f.output)
	case !slices.Contains(replay.WaitFigures, replay.WaitFigure(f.wait)):
		return fmt.Errorf("--wait %q: use mean, p50, p90, p99 or max", f.wait)
	case f.gpu != string(replay.GPUWhole) && f.gpu != string(replay.GPUMilli):
		return fmt.Errorf("--gpu %q: use %s or %s", f.gpu, replay.GPUWhole, replay.GPUMilli)
	case !(f.from >= 0 && f.from <= 9e9):
		return fmt.Errorf("--from %g: use seconds from 0 to 9e9", f.from)
	case !(f.until >= 0 && f.until <= 9e9) || f.until > 0 && f.until <= f.from:
		return fmt.Errorf("--until %g: use seconds later than --from, at most 9e9, or 0 for no bound", f.until)
	}
	if err := f.checkInput(); err != nil {
		return err
	}
	switch f.progress {
	case "auto":
		f.progressVisible = isTerminal(stderr)
	case "on":
		f.progressVisible = true
	case "off":
	default:
		return fmt.Errorf("--progress %q: use auto, on or off", f.progress)
	}
	return nil
}

func runReplay(ctx context.Context, f replayFlags, stdout, stderr io.Writer) error {
	in, err := f.openInput()
	if err != nil {
		return err
	}
	runs, err := readPolicies(in.policies(), f.pools, f.sweeps)
	if err != nil {
		return err
	}
	show := newProgress(f.progressVisible, stderr, len(runs))
	worlds, closeInputs, err := openWorlds(f, in, runs)
	if err != nil {
		return err
	}
	defer closeInputs()
	err = show.runAll(ctx, worlds)
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return err
	}
	if interrupted {
		fmt.Fprintln(stderr, "interrupted: what was seen until then is kept")
	}
	in.tell(stderr)
	comparison, lines := compareWorlds(runs, worlds, replay.WaitFigure(f.wait), interrupted)
	if f.html != "" {
		draw := func(w io.Writer) error { return page.Write(w, in.title(), comparison, lines) }
		if err := writeFile(f.html, draw); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	return writeReplay(comparison, f.output, stdout)
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
