// Package stories proves Muster's promises against a real control plane. Every test is a story: it sets a scene, lets
// something happen, and watches what comes of it through the API server and the machine backend.
package stories

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

// kit is Muster installed in the one control plane that all stories share.
var kit *shipped.Kit

// soon is how long a pod may take to run when machines take two seconds: generous, since it only tells a hang from a
// slow machine.
const soon = 90 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// logs is a folder of this process: two of them may begin in one second.
func logs(tree controlplane.Tree, begin time.Time) string {
	return filepath.Join(tree.E2E, "logs", fmt.Sprintf("%s-%d", begin.Format("20060102-150405"), os.Getpid()))
}

func run(m *testing.M) int {
	tree, err := controlplane.FindTree()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	begin := time.Now()
	plane, err := controlplane.Start(context.Background(), logs(tree, begin))
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
	fmt.Printf("control plane ready and Muster installed after %s\n", time.Since(begin).Round(time.Millisecond))
	code := m.Run()
	if code != 0 {
		plane.Keep()
		fmt.Printf("the logs are in %s\n", plane.Logs)
	}
	return code
}
