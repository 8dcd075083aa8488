package shipped

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// OnPlane boots a control plane, installs Muster in it, has the tests of a package run there, and returns their exit code.
// The logs of tests that failed are kept, in a folder of this process: two of them may begin in one second.
func OnPlane(what string, tests func(*Kit) int) int {
	tree, err := controlplane.FindTree()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	begin := time.Now()
	logs := fmt.Sprintf("%s-%d-%s", begin.Format("20060102-150405"), os.Getpid(), what)
	plane, err := controlplane.Start(context.Background(), filepath.Join(tree.E2E, "logs", logs))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer plane.Stop()
	kit, err := Install(context.Background(), plane)
	if err != nil {
		plane.Keep()
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("control plane ready and Muster installed after %s\n", time.Since(begin).Round(time.Millisecond))
	code := tests(kit)
	if code != 0 {
		plane.Keep()
		fmt.Printf("the logs are in %s\n", plane.Logs)
	}
	return code
}
