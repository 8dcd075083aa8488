package shipped

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// Kit is Muster installed in a control plane: objects applied, accounts ready, nothing running.
type Kit struct {
	Plane *controlplane.Plane
	// Placed, Guard and Shadow are the shipped Deployments.
	Placed, Guard, Shadow Deployment

	program string // muster
}

// Install applies deploy/base and deploy/rbac and makes a kubeconfig for each of the shipped
// ServiceAccounts.
func Install(ctx context.Context, plane *controlplane.Plane) (k *Kit, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	k = &Kit{Plane: plane}
	if k.program, err = plane.Tree.Program("muster"); err != nil {
		return nil, err
	}
	for _, command := range [][]string{
		{"apply", "-k", k.path("deploy/base")},
		{"wait", "--for=condition=Established", "--timeout=30s", "crd",
			"nodepools.muster.sh", "nodeclaims.muster.sh", "providers.muster.sh", "hosts.muster.sh"},
		{"apply", "-k", k.path("deploy/rbac")},
		{"apply", "-f", k.path("deploy/shadow/account.yaml")},
	} {
		if _, err := plane.Kubectl(ctx, command...); err != nil {
			return nil, fmt.Errorf("install: %w", err)
		}
	}
	if k.Placed, err = k.readDeployment(ctx, "deploy/place"); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	if k.Guard, err = k.readDeployment(ctx, "deploy/guard"); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	if k.Shadow, err = k.readDeployment(ctx, "deploy/shadow-called"); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	return k, nil
}

// File is the place of a file of the tree.
func (k *Kit) File(name string) string { return k.path(name) }

func (k *Kit) path(name string) string { return filepath.Join(k.Plane.Tree.Root, name) }

// Muster runs a muster command to its end and returns what it printed.
func (k *Kit) Muster(ctx context.Context, args ...string) ([]byte, error) {
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, k.program, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("muster %q: %w\n%s", args, err, problems.String())
	}
	return out.Bytes(), nil
}
