package shipped

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/muster-sh/muster/provider/sim"
	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// Kit is Muster installed in a control plane: objects applied, accounts ready, nothing running.
type Kit struct {
	Plane   *controlplane.Plane
	program string // muster
	// Kubeconfig acts as the ServiceAccount of the shipped Deployment's pod: Muster's and its scheduler's.
	Kubeconfig string
	deployment deployment
}

// Install applies deploy/crds and deploy/rbac and makes the kubeconfig of their ServiceAccount.
func Install(ctx context.Context, plane *controlplane.Plane) (*Kit, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	k := &Kit{Plane: plane}
	var err error
	if k.program, err = plane.Tree.Program("muster"); err != nil {
		return nil, err
	}
	if _, err := plane.Kubectl(ctx, "apply", "-k", k.path("deploy/crds")); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	if _, err := plane.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=30s", "crd",
		"nodepools.muster.sh", "nodeclaims.muster.sh", "providers.muster.sh", "hosts.muster.sh"); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	if _, err := plane.Kubectl(ctx, "apply", "-k", k.path("deploy/rbac")); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	if k.deployment, err = k.readDeployment(ctx, "deploy/place"); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	k.Kubeconfig, err = plane.AccountKubeconfig(ctx, k.deployment.namespace, k.deployment.account)
	return k, err
}

func (k *Kit) path(name string) string { return filepath.Join(k.Plane.Tree.Root, name) }

// Sim is the simulated machine backend as a process of its own: it outlives every Muster of a story.
type Sim struct {
	*Service
	*sim.Client
}
