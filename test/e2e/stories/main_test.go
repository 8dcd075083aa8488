// Package stories proves Muster's promises against a real control plane. Every test is a story: it sets a scene, lets
// something happen, and watches what comes of it through the API server and the machine backend.
package stories

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/muster-sh/muster/test/e2e/shipped"
)

// kit is Muster installed in the one control plane that all stories share.
var kit *shipped.Kit

// soon is how long a pod may take to run when machines take two seconds: generous, since it only tells a hang from a
// slow machine.
const soon = 90 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(shipped.OnPlane("stories", func(k *shipped.Kit) int {
		kit = k
		return m.Run()
	}))
}
