// Package removal takes Muster out of a cluster in every way that an operator may try, beside a running Muster and after it was
// killed. It has a control plane of its own: what it deletes, every other story needs.
package removal

import (
	"flag"
	"os"
	"testing"

	"github.com/muster-sh/muster/test/e2e/shipped"
)

// kit is Muster installed in the control plane; a story that removed it installs it again.
var kit *shipped.Kit

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(shipped.OnPlane("removal", func(k *shipped.Kit) int {
		kit = k
		return m.Run()
	}))
}
