// Package race has pods come all the time while nodes are released, many times over, and proves by the API server's own
// versions that none was bound to a node after it was closed and none was on a machine when that was given back.
package race

import (
	"flag"
	"os"
	"testing"

	"github.com/muster-sh/muster/test/e2e/shipped"
)

var releases = flag.Int("releases", 30, "how many machines are given back in each mode before the race ends")

var kit *shipped.Kit

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(shipped.OnPlane("race", func(k *shipped.Kit) int {
		kit = k
		return m.Run()
	}))
}
