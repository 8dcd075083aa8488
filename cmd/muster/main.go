// Command muster wakes nodes when pods need them and lets them rest when nobody does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program: 0 when all went well, 1 for an error that is told on stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand(stdout, stderr)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(stderr, "muster:", err)
		return 1
	}
	return 0
}

// displayName is how the program is called: kubectl runs one that is named kubectl-muster as `kubectl muster`.
func displayName(program string) string {
	if filepath.Base(program) == "kubectl-muster" {
		return "kubectl muster"
	}
	return "muster"
}

func newRootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "muster",
		Short: "Wake nodes when pods need them, and let them rest when nobody does",
		Long: `Muster is a kube-scheduler extender with a capacity planner behind it. When no node has room for a pod, it
orders a machine from a provider; when a node has been idle, it gives the machine back.`,
		SilenceUsage: true, SilenceErrors: true,
		Version:     version(),
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: displayName(os.Args[0])},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(newServeCommand(stderr), newSimCommand(stderr), newPlanCommand(stdout),
		newReplayCommand(stdout, stderr), newRecordCommand(stdout), newShadowCommand(stdout), newDemoCommand(stdout), newHostsCommand(stdout, stderr), newDoctorCommand(stdout, stderr),
		newFreezeCommand(stdout), newThawCommand(stdout), newConfirmGoneCommand(stdout), newUninstallCommand(stdout))
	return root
}
