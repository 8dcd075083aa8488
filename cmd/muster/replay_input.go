package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/replay"
)

func openTrace(f replayFlags, pools *manifest.Pools) (*replay.Trace, func(), error) {
	file, err := os.Open(f.trace)
	if err != nil {
		return nil, nil, err
	}
	o := replay.TraceOptions{
		From: seconds(f.from), Until: seconds(f.until), Lenient: f.lenient, GPU: replay.GPU(f.gpu),
	}
	o.Tolerate(pools.Pools)
	trace, err := replay.NewTrace(f.trace, file, o)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return trace, func() { file.Close() }, nil
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
	return nil
}
