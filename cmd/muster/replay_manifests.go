package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/replay"
)

// manifestInput is a set of manifests whose pods come and go as a shape says.
type manifestInput struct {
	flags   *replayFlags
	load    *manifest.Load
	shape   *manifest.Shape
	skipped int // entries of the shape
	pods    int
}

func (f *replayFlags) openManifests() (input, error) {
	load, err := manifest.ReadLoad(f.lenient, f.manifests...)
	if err != nil {
		return nil, fmt.Errorf("read --manifests: %w", err)
	}
	shape, skipped, err := manifest.ReadShape(f.shape, load, f.lenient)
	if err != nil {
		return nil, fmt.Errorf("read --shape: %w", err)
	}
	return &manifestInput{flags: f, load: load, shape: shape, skipped: skipped}, nil
}

func (i *manifestInput) policies() []policyRun { return nil }

func (i *manifestInput) title() string {
	return "Replay of " + filepath.Base(i.flags.manifests[0]) + " as " + filepath.Base(i.flags.shape)
}

// options begin with what the manifests say is there; --nodes adds to that.
func (i *manifestInput) options(pools *manifest.Pools) (replay.Options, func(), error) {
	shaped, err := replay.NewShaped(i.load, i.shape, i.flags.seed)
	if err != nil {
		return replay.Options{}, nil, fmt.Errorf("read --shape: %w", err)
	}
	i.pods = shaped.Len()
	var start time.Duration
	o := replay.Options{Pools: pools.Pools, Providers: pools.Providers, Load: shaped, Start: &start}
	if err := readReplayNodes(*i.flags, &o); err != nil {
		return replay.Options{}, nil, fmt.Errorf("read --nodes: %w", err)
	}
	o.Nodes, o.DaemonSets = append(o.Nodes, i.load.Nodes...), append(o.DaemonSets, i.load.DaemonSets...)
	for _, p := range i.load.Pods {
		if p.Spec.NodeName == "" {
			p.Spec.SchedulerName = replay.Scheduler
		}
		o.Pods = append(o.Pods, p)
	}
	o.DeviceClasses, o.Namespaces = append(o.DeviceClasses, i.load.DeviceClasses...), append(o.Namespaces, i.load.Namespaces...)
	o.Storage = append(o.Storage, i.load.Storage...)
	return o, func() {}, nil
}

func (i *manifestInput) tell(stderr io.Writer) {
	fmt.Fprintf(stderr, "the shape makes %d pods in %s\n", i.pods, i.shape.Spec.Length)
	if n := len(i.load.Skipped); n > 0 {
		fmt.Fprintf(stderr, "left out %d mistakes of manifests:\n%s\n", n, i.load.Skipped.Error())
	}
	if i.skipped > 0 {
		fmt.Fprintf(stderr, "left out %d entries of the shape: the manifests have no such workload\n", i.skipped)
	}
}
