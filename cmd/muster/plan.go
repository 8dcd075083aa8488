package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/capacity/planner"
)

// planFlags are what `muster plan` is asked.
type planFlags struct {
	pools, clusters, schedulers []string
	output                      string
	exitCode                    bool
}

func newPlanCommand(out io.Writer) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan --pools FILE --cluster FILE",
		Short: "Say what would be bought for the pods of a saved cluster, and why; buy nothing",
		Long: `Plan reads a saved cluster (nodes, pods, DaemonSets, NodeClaims, DeviceClasses, namespaces, PodDisruptionBudgets, and
what decides where volumes can be had) and a pools file (NodePools and Providers), and says which machines Muster would order for the pods that wait for a node, which pods fit already, and
which pods no pool can take, with the reason of every pool. It talks to nobody.

Every pod without a node counts, whether its scheduler has tried it or not. "-" reads from standard input.`,
		Example: `  kubectl get nodes,pods,daemonsets,nodeclaims,deviceclasses,namespaces,pdb,pvc,pv,storageclasses,csinodes,csidrivers,\
    csistoragecapacities,volumeattachments -A -o yaml > cluster.yaml
  kubectl get nodepools,providers -o yaml > pools.yaml
  muster plan --pools pools.yaml --cluster cluster.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runPlan(f, time.Now(), out) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.pools, "pools", nil, "file with NodePools and Providers (repeatable)")
	flags.StringArrayVar(&f.clusters, "cluster", nil, "file with nodes, pods, DaemonSets and NodeClaims (repeatable)")
	flags.StringArrayVar(&f.schedulers, "scheduler", nil, "count only pods of this scheduler (repeatable; default: all)")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit with 1 when a pod is left that no pool can take")
	for _, name := range []string{"pools", "cluster"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a flag that was not defined above
		}
	}
	return cmd
}

func runPlan(f planFlags, now time.Time, out io.Writer) error {
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output %q: must be text or json", f.output)
	}
	pools, err := manifest.ReadPools(f.pools...)
	if err != nil {
		return fmt.Errorf("read --pools: %w", err)
	}
	cluster, err := manifest.ReadCluster(f.clusters...)
	if err != nil {
		return fmt.Errorf("read --cluster: %w", err)
	}
	saved := savedCluster{pools: pools, cluster: cluster}
	view := saved.view(f.schedulers, now)
	report := newPlanReport(view, planner.Plan(view, now), saved.workloads())
	report.Notes = saved.notes
	if err := writePlan(report, f.output, out); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	if n := report.Summary.Unserved; f.exitCode && n > 0 {
		return fmt.Errorf("pods that no pool can take: %d", n)
	}
	return nil
}

func writePlan(r planReport, output string, out io.Writer) error {
	if output == "text" {
		_, err := io.WriteString(out, r.text())
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
