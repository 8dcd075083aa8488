// Package uninstall prepares a cluster for the removal of Muster. There are two ways: Keep turns Muster's nodes into plain
// nodes and needs no running Muster; Drain has the running Muster drain and release them. Both end by allowing what
// deploy/base/protection.yaml refuses until then, the deletion of the definitions and of the namespace. Both can be ended at
// any moment and run again. The package deletes no Deployment, definition or namespace, and asks no provider for anything.
package uninstall

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Uninstall is one run of the command.
type Uninstall struct {
	// Objects reads and writes without a cache.
	Objects client.Client
	// Out is told each thing that is done, or would be.
	Out io.Writer
	// Leases are those by which a Muster leads.
	Leases []types.NamespacedName
	// Do makes the changes; without it they are printed only.
	Do bool
}

// change makes one change and says so, or says that it would be made.
func (u *Uninstall) change(do func() error, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if !u.Do {
		u.say("would %s", text)
		return nil
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	u.say("%s", text)
	return nil
}

func (u *Uninstall) say(format string, args ...any) { fmt.Fprintf(u.Out, format+"\n", args...) }

// finish says what is left for the operator to do.
func (u *Uninstall) finish() {
	if !u.Do {
		u.say("\nNothing was changed. Run the command again with --yes to do this.")
		return
	}
	u.say(`
No NodeClaim is left. To remove the rest, in this order:
  kubectl delete -k my-cluster     # your overlay, or deploy/place, deploy/guard, deploy/shadow
  kubectl delete -k deploy/base    # the definitions, with every NodePool, Provider and Host; the namespace muster-system
Where the second waits for an object of Muster, run this command again beside it.
To keep Muster installed, take the permission back: kubectl apply -k deploy/base`)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
