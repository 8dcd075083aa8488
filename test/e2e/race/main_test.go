// Package race has pods come all the time while nodes are released, many times over, and proves by the API server's own
// versions that none was bound to a node after it was closed and none was on a machine when that was given back.
package race

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

var releases = flag.Int("releases", 30, "how many machines are given back in each mode before the race ends")

var kit *shipped.Kit

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	tree, err := controlplane.FindTree()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	logs := filepath.Join(tree.E2E, "logs", time.Now().Format("20060102-150405")+"-race")
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
	code := m.Run()
	if code != 0 {
		plane.Keep()
		fmt.Printf("the logs are in %s\n", plane.Logs)
	}
	return code
}
