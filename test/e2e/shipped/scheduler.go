package shipped

import (
	"fmt"
	"path/filepath"

	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// SchedulerOptions say how a stock kube-scheduler runs.
type SchedulerOptions struct {
	Name     string // of the process and its files
	Logs     string // folder
	Config   SchedulerConfig
	Hostname string   // its own, if two schedulers share the machine and a lease
	Flags    []string // as shipped, or none
	Env      []string // as shipped, or none
}

// StartScheduler starts kube-scheduler. Its health page says that it serves, not that it leads.
func (k *Kit) StartScheduler(o SchedulerOptions) (*Service, error) {
	port, err := controlplane.FreePort()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(o.Logs, o.Name+".yaml")
	if err := o.Config.Write(file); err != nil {
		return nil, err
	}
	flags := withFlags(o.Flags, "--config="+file, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+filepath.Join(o.Logs, o.Name+"-certs"))
	return startService(controlplane.Command{
		Name: o.Name, Path: k.Plane.KubeProgram(), Env: o.Env, Dir: o.Logs, Hostname: o.Hostname,
		Args: append([]string{"kube-scheduler"}, flags...),
	}, Service{URL: fmt.Sprintf("https://127.0.0.1:%d", port), Health: fmt.Sprintf("https://127.0.0.1:%d/healthz", port)})
}

// StockConfig is a scheduler as it comes, for pods that are none of Muster's business, at the client speed that
// Muster's own scheduler has.
func (k *Kit) StockConfig() SchedulerConfig {
	return SchedulerConfig{
		"apiVersion":       "kubescheduler.config.k8s.io/v1",
		"kind":             "KubeSchedulerConfiguration",
		"clientConnection": map[string]any{"kubeconfig": k.Plane.SchedulerKubeconfig, "qps": 500.0, "burst": 1000},
		"leaderElection":   map[string]any{"leaderElect": false},
	}
}
