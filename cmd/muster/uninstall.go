package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/cmd/muster/uninstall"
)

// uninstallFlags is what the operator said.
type uninstallFlags struct {
	kubeconfig string
	keepNodes  bool
	drain      bool
	yes        bool
	leases     []string
}

func newUninstallCommand(stdout io.Writer) *cobra.Command {
	var f uninstallFlags
	cmd := &cobra.Command{
		Use:   "uninstall (--keep-nodes | --drain)",
		Short: "Prepare the cluster for the removal of Muster: keep all nodes as plain nodes, or release them all",
		Long: `Uninstall takes Muster's claims away and then allows what the cluster refuses until then: the deletion of Muster's
CustomResourceDefinitions and of its namespace. Without --yes it prints what it would do and changes nothing. It may be
interrupted and run again.

--keep-nodes makes every node of Muster a plain node and leaves its machine running. Stop Muster first.
--drain deletes the pools and waits until the running Muster has drained and released every node.

It needs the rights of an administrator of the cluster.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), stdout) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; KUBECONFIG and ~/.kube/config without one")
	fs.BoolVar(&f.keepNodes, "keep-nodes", false, "make every node a plain node; no machine is touched")
	fs.BoolVar(&f.drain, "drain", false, "drain and release every node; a Muster has to run")
	fs.BoolVar(&f.yes, "yes", false, "do it; without it, only print what would be done")
	fs.StringSliceVar(&f.leases, "lease", []string{"kube-system/muster-scheduler", "muster-system/muster"},
		"leases (namespace/name) by which a Muster leads, where --lease or --scheduler-lease of muster serve say others (repeatable)")
	return cmd
}

func (f *uninstallFlags) run(ctx context.Context, stdout io.Writer) error {
	if f.keepNodes == f.drain {
		return errors.New("give one of --keep-nodes (every node becomes a plain node) and --drain (every node is drained and its machine released)")
	}
	u := uninstall.Uninstall{Out: stdout, Do: f.yes}
	for _, text := range f.leases {
		lease, err := namespacedName(text)
		if err != nil {
			return fmt.Errorf("--lease %q: %w", text, err)
		}
		u.Leases = append(u.Leases, lease)
	}
	config, err := restConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	scheme, err := kube.Scheme()
	if err != nil {
		return err
	}
	if u.Objects, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return apiServerError(config, fmt.Errorf("make a client: %w", err))
	}
	if f.keepNodes {
		return apiServerError(config, u.Keep(ctx))
	}
	return apiServerError(config, u.Drain(ctx))
}
