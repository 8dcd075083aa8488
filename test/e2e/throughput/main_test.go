// Package throughput measures on the real control plane what unit benchmarks cannot: how many pods per second
// kube-scheduler binds with Muster and without, and how long a pod waits for Muster's part of its way.
package throughput

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-sh/muster/test/e2e/controlplane"
	"github.com/muster-sh/muster/test/e2e/shipped"
)

var kit *shipped.Kit

// TestMain boots a control plane only when benchmarks were asked for.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f == nil || f.Value.String() == "" {
		os.Exit(m.Run())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	tree, err := controlplane.FindTree()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	logs := filepath.Join(tree.E2E, "logs", time.Now().Format("20060102-150405"))
	plane, err := controlplane.Start(context.Background(), logs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer plane.Stop()
	if kit, err = shipped.Install(context.Background(), plane); err != nil {
		plane.Keep()
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
