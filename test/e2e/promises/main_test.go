// Package promises proves that a plan is kept: for clusters that a seed makes up, `muster plan` says which pods get a
// node and what has to be bought; then a real control plane, a real Muster and a real kube-scheduler do it, and what
// came of it is compared with what was said.
package promises

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/muster-sh/muster/test/e2e/shipped"
)

var (
	clusters = flag.Int("clusters", 10, "how many clusters are tried")
	first    = flag.Uint64("seed", 1, "the seed of the first; the others follow")
	kinds    = flag.String("kinds", kept, "kinds of rules in them, with commas between: all, or names; -name takes one away")
	patience = flag.Duration("patience", time.Minute, "how long to wait for anything before it is taken for a broken promise")
)

// kept are the kinds of rules with which plans are kept to the letter: what every run asks for. With the others, which
// `make promises` adds, about one plan in twenty is not kept yet: docs/planner.md says what becomes of it.
const kept = "all,-ports,-spread,-affinity,-namespaces,-volumes"

// kit is Muster installed in the one control plane that all clusters are made on, one after the other.
var kit *shipped.Kit

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(shipped.OnPlane("promises", func(k *shipped.Kit) int {
		kit = k
		return m.Run()
	}))
}
