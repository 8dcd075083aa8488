// Package throughput measures on the real control plane what unit benchmarks cannot: how many pods per second
// kube-scheduler binds with Muster and without, and how long a pod waits for Muster's part of its way.
package throughput

import (
	"flag"
	"os"
	"testing"

	"github.com/muster-sh/muster/test/e2e/shipped"
)

var kit *shipped.Kit

// TestMain boots a control plane only when benchmarks were asked for.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f == nil || f.Value.String() == "" {
		os.Exit(m.Run())
	}
	os.Exit(shipped.OnPlane("throughput", func(k *shipped.Kit) int {
		kit = k
		return m.Run()
	}))
}
