package shipped

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// Kit is Muster installed in a control plane: objects applied, accounts ready, nothing running.
type Kit struct {
	Plane *controlplane.Plane
	// Kubeconfig acts as the ServiceAccount of the shipped Deployment's pod: Muster's and its scheduler's.
	Kubeconfig string

	program    string // muster
	deployment deployment
}

// Install applies deploy/crds and deploy/rbac and makes the kubeconfig of the shipped ServiceAccount.
func Install(ctx context.Context, plane *controlplane.Plane) (k *Kit, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	k = &Kit{Plane: plane}
	if k.program, err = plane.Tree.Program("muster"); err != nil {
		return nil, err
	}
	for _, command := range [][]string{
		{"apply", "-k", k.path("deploy/crds")},
		{"wait", "--for=condition=Established", "--timeout=30s", "crd",
			"nodepools.muster.sh", "nodeclaims.muster.sh", "providers.muster.sh", "hosts.muster.sh"},
		{"apply", "-k", k.path("deploy/rbac")},
	} {
		if _, err := plane.Kubectl(ctx, command...); err != nil {
			return nil, fmt.Errorf("install: %w", err)
		}
	}
	if k.deployment, err = k.readDeployment(ctx); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	k.Kubeconfig, err = plane.AccountKubeconfig(ctx, k.deployment.namespace, k.deployment.account)
	return k, err
}

func (k *Kit) path(name string) string { return filepath.Join(k.Plane.Tree.Root, name) }
