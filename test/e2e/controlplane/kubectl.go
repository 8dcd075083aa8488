package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// Kubectl runs the real kubectl as the administrator and returns what it printed.
func (p *Plane) Kubectl(ctx context.Context, args ...string) (string, error) {
	all := append([]string{"kubectl", "--kubeconfig=" + p.AdminKubeconfig}, args...)
	cmd := exec.CommandContext(ctx, p.programs.kube, all...)
	cmd.Env = []string{"HOME=" + p.dir}
	cmd.Dir = p.Tree.Root
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %q: %w\n%s%s", args, err, out.String(), problems.String())
	}
	return out.String(), nil
}

// KubeProgram is the multi-call program, for schedulers that a story starts.
func (p *Plane) KubeProgram() string { return p.programs.kube }
