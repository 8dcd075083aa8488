package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/replay"
)

// input is what all policies of a replay meet.
type input interface {
	// policies are those it brings along.
	policies() []policyRun
	// title names it in pictures.
	title() string
	// options are what a world of these pools begins with; the function closes what it reads.
	options(pools *manifest.Pools) (replay.Options, func(), error)
	// tell says on stderr what was left out, after a replay.
	tell(stderr io.Writer)
}

// openInput reads a recording at once; a trace is read by every world for itself, so that none waits for another.
func (f *replayFlags) openInput() (input, error) {
	switch {
	case f.trace != "":
		return &traceInput{flags: f}, nil
	case len(f.manifests) > 0:
		return f.openManifests()
	}
	read := replay.ReadRecording
	if f.lenient {
		read = replay.ReadRecordingLenient
	}
	r, err := read(f.recording)
	if err != nil {
		return nil, fmt.Errorf("--recording: %w", err)
	}
	return &recordedInput{flags: f, recorded: r}, nil
}

type traceInput struct {
	flags *replayFlags
	last  *replay.Trace
}

func (i *traceInput) policies() []policyRun { return nil }

func (i *traceInput) title() string { return "Replay of " + filepath.Base(i.flags.trace) }

func (i *traceInput) options(pools *manifest.Pools) (replay.Options, func(), error) {
	file, err := os.Open(i.flags.trace)
	if err != nil {
		return replay.Options{}, nil, fmt.Errorf("read --trace: %w", err)
	}
	closeFile := func() { file.Close() }
	o := replay.TraceOptions{
		From: seconds(i.flags.from), Until: seconds(i.flags.until), Lenient: i.flags.lenient, GPU: replay.GPU(i.flags.gpu),
	}
	o.Tolerate(pools.Pools)
	trace, err := replay.NewTrace(i.flags.trace, file, o)
	if err != nil {
		closeFile()
		return replay.Options{}, nil, fmt.Errorf("read --trace: %w", err)
	}
	i.last = trace
	options := replay.Options{Pools: pools.Pools, Providers: pools.Providers, Load: trace}
	if err := readReplayNodes(*i.flags, &options); err != nil {
		closeFile()
		return replay.Options{}, nil, fmt.Errorf("read --nodes: %w", err)
	}
	return options, closeFile, nil
}

func (i *traceInput) tell(stderr io.Writer) {
	if i.last.Skipped > 0 {
		fmt.Fprintf(stderr, "left out %d bad rows\n", i.last.Skipped)
	}
	for _, column := range []string{"max_per_node", "exclusive", "nic_pct"} {
		if n := i.last.Ignored[column]; n > 0 {
			fmt.Fprintf(stderr, "column %s has no counterpart: %d values had no effect\n", column, n)
		}
	}
}

type recordedInput struct {
	flags    *replayFlags
	recorded *replay.Recorded
}

// policies are the pools as they were: what others are set beside.
func (i *recordedInput) policies() []policyRun {
	return []policyRun{{name: "recorded", pools: &manifest.Pools{Pools: i.recorded.Pools}}}
}

func (i *recordedInput) title() string {
	return "Replay of a recording from " + i.recorded.From.UTC().Format(time.RFC3339)
}

// options take Providers of the policy where its files have some, and the recorded ones elsewhere.
func (i *recordedInput) options(pools *manifest.Pools) (replay.Options, func(), error) {
	providers := pools.Providers
	if len(providers) == 0 {
		providers = i.recorded.Providers
	}
	var start time.Duration
	return replay.Options{
		Pools: pools.Pools, Providers: providers, Nodes: i.recorded.Nodes, Pods: i.recorded.Pods,
		DaemonSets: i.recorded.DaemonSets, Load: i.recorded.Load(), Start: &start, Delays: &i.recorded.Delays,
	}, func() {}, nil
}

func (i *recordedInput) tell(stderr io.Writer) {
	bought, released := len(i.recorded.Machines), 0
	for _, m := range i.recorded.Machines {
		if m.Released >= 0 {
			released++
		}
	}
	fmt.Fprintf(stderr, "the recording of %s saw %d machines bought and %d released\n",
		i.recorded.To.Sub(i.recorded.From).Round(time.Second), bought, released)
	if n := i.recorded.Skipped; n > 0 {
		fmt.Fprintf(stderr, "left out %d objects of the recording that cannot be read\n", n)
	}
	for _, d := range i.recorded.Damages {
		fmt.Fprintf(stderr, "%v: read up to there\n", d)
	}
}

// readReplayNodes takes in what exists already. Claims of a saved cluster are left out: their machines are not there.
func readReplayNodes(f replayFlags, o *replay.Options) error {
	if f.nodes == "" {
		return nil
	}
	name := strings.TrimSuffix(f.nodes, ".gz")
	if filepath.Ext(name) == ".csv" {
		file, err := os.Open(f.nodes)
		if err != nil {
			return err
		}
		defer file.Close()
		o.Nodes, err = replay.ReadNodes(f.nodes, file, replay.GPU(f.gpu))
		return err
	}
	cluster, err := manifest.ReadCluster(f.nodes)
	if err != nil {
		return err
	}
	if len(cluster.Nodes) == 0 {
		return fmt.Errorf("%s: no Node in it", f.nodes)
	}
	o.Nodes, o.Pods = cluster.Nodes, cluster.Pods
	o.DaemonSets, o.DeviceClasses = cluster.DaemonSets, cluster.DeviceClasses
	o.Namespaces, o.Storage = cluster.Namespaces, cluster.Storage
	return nil
}

// checkInput refuses flags that do not go together.
func (f *replayFlags) checkInput() error {
	given := 0
	for _, is := range []bool{f.trace != "", f.recording != "", len(f.manifests) > 0} {
		given += map[bool]int{true: 1}[is]
	}
	switch {
	case given == 0:
		return errors.New("give --trace FILE, --manifests FILE with --shape FILE, or --recording FOLDER")
	case given > 1:
		return errors.New("--trace, --manifests and --recording: give one of them")
	case (f.shape != "") != (len(f.manifests) > 0):
		return errors.New("--manifests and --shape: give both or neither: a manifest does not say when its pods come and go")
	case f.recording == "" && len(f.pools) == 0:
		return errors.New("--pools is missing: only a recording knows pools")
	case f.recording != "" && f.nodes != "":
		return errors.New("--nodes is for traces and manifests: a recording has its own nodes")
	case f.trace == "" && (f.from != 0 || f.until != 0):
		return errors.New("--from and --until are for traces: a recording, or a shape, is replayed as a whole")
	}
	return nil
}
