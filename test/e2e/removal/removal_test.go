package removal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestDeletingAnyOverlayTouchesNoClaim: every overlay is deleted beside a running Muster, and every one again after Muster was
// killed. What would take claims with it is denied with what to do, in every way that the API server knows; a Muster that is
// installed again goes on where it was.
func TestDeletingAnyOverlayTouchesNoClaim(t *testing.T) {
	s := begin(t)
	s.refused()
	deleteEach := func(when string) {
		for _, overlay := range []string{"shadow-called", "shadow", "guard", "place", "rbac"} {
			out, err := s.deleteOverlay(overlay)
			require.NoError(t, err, "%s: %s\n%s", when, overlay, out)
			require.NotContains(t, out, "customresourcedefinition")
			require.NotContains(t, out, "namespace \"")
			s.calm(time.Second, s.untouched)
			if overlay != "rbac" {
				_, err = s.kubectl("apply", "-k", "deploy/rbac")
				require.NoError(t, err)
			}
		}
		for range 2 { // the second time the policy is being deleted, and still in force
			for _, overlay := range []string{"base", "crds"} {
				_, err := s.deleteOverlay(overlay)
				denied(t, err)
				require.NoError(t, s.untouched(), "%s: %s", when, overlay)
			}
		}
	}
	deleteEach("beside a running Muster")
	s.replica.KillPod()
	deleteEach("with Muster dead")
	s.noDestruction()

	s.reinstall()
	s.Place(stage.ReplicaOptions{Name: "again"})
	s.WholeAndPaired()
	s.calm(2*time.Second, s.untouched)
}

// refused wants definitions and namespace to be denied to whoever deletes them.
func (s *scene) refused() {
	s.T.Helper()
	for _, command := range [][]string{
		{"delete", "namespace", "muster-system"},
		{"delete", "crd", "nodeclaims.muster.sh"},
		{"delete", "crd", "hosts.muster.sh", "--cascade=orphan"},
		{"delete", "crd", "--all"},
		{"delete", "--raw", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
		{"delete", "--raw", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.muster.sh"},
		{"replace", "--force", "-k", "deploy/crds"},
	} {
		_, err := s.kubectl(command...)
		denied(s.T, err)
		require.NoError(s.T, s.untouched(), command)
	}
	_, err := s.kubectl("create", "namespace", "other")
	require.NoError(s.T, err)
	_, err = s.kubectl("delete", "namespace", "other")
	require.NoError(s.T, err, "other namespaces are not our business")
}

func denied(t testing.TB, err error) {
	t.Helper()
	require.ErrorContains(t, err, "ValidatingAdmissionPolicy 'muster-removal'")
	require.ErrorContains(t, err, "muster uninstall --keep-nodes")
}

// TestClaimsOfADefinitionThatIsDeletedAreHeldAndTheirNodesKept: the policy is removed by hand, and the definition of pools deleted,
// then that of claims. The running Muster drains nothing and says so; `muster uninstall --keep-nodes` is the way out, and the base
// can be deleted.
func TestClaimsOfADefinitionThatIsDeletedAreHeldAndTheirNodesKept(t *testing.T) {
	s := begin(t)
	s.unprotect()
	s.Await(soon, "the deletion to be accepted", func() error {
		_, err := s.kubectl("delete", "crd", "nodepools.muster.sh", "--wait=false")
		return err
	})
	s.Await(soon, "the pool to say that its nodes are kept", s.poolKept)
	s.calm(3*time.Second, func() error { return errors.Join(s.ready(), s.undisturbed()) })
	_, err := s.kubectl("delete", "crd", "nodeclaims.muster.sh", "--wait=false")
	require.NoError(t, err)
	s.Await(soon, "the claims to be held", func() error { return s.blocked("DefinitionTerminating") })
	s.calm(5*time.Second, func() error { return errors.Join(s.blocked("DefinitionTerminating"), s.undisturbed()) })
	events, err := s.kubectl("get", "events", "-A", "--field-selector=reason=DefinitionTerminating", "-o", "jsonpath={.items[*].message}")
	require.NoError(t, err)
	require.Contains(t, events, "CustomResourceDefinition nodeclaims.muster.sh is being deleted")

	s.replica.KillPod()
	out, err := s.muster("uninstall", "--keep-nodes", "--yes")
	require.NoError(t, err)
	t.Logf("\n%s", out)
	s.plain()
	_, err = s.deleteOverlay("base")
	require.NoError(t, err)
	require.NoError(t, s.undisturbed())
	s.noDestruction()
}

// TestTheWayBackKeepsEveryNode: refused while Muster runs; then every node is a plain node, its pod runs on, and nothing of
// Muster is left. A Muster that is installed later leaves those nodes alone.
func TestTheWayBackKeepsEveryNode(t *testing.T) {
	s := begin(t)
	_, err := s.muster("uninstall", "--keep-nodes", "--yes")
	require.ErrorContains(t, err, "a Muster runs; stop it first")
	require.NoError(t, s.untouched())

	s.replica.KillPod()
	out, err := s.muster("uninstall", "--keep-nodes")
	require.NoError(t, err)
	t.Logf("\n%s", out)
	require.Contains(t, out, "would remove claim kept-000")
	require.Contains(t, out, "Nothing was changed")
	require.NoError(t, s.untouched())
	_, err = s.deleteOverlay("base")
	denied(t, err)

	out, err = s.muster("uninstall", "--keep-nodes", "--yes")
	require.NoError(t, err)
	t.Logf("\n%s", out)
	require.Empty(t, s.MustClaims(""))
	s.plain()
	s.gone()
	require.NoError(t, s.undisturbed())
	s.noDestruction()
}

// TestTheWayBackDrainsEveryNode: the running Muster empties and releases all, and then nothing of Muster is left.
func TestTheWayBackDrainsEveryNode(t *testing.T) {
	s := begin(t)
	out, err := s.muster("uninstall", "--drain")
	require.NoError(t, err)
	t.Logf("\n%s", out)
	require.Contains(t, out, "would delete pool kept")
	require.NoError(t, s.untouched())

	out, err = s.muster("uninstall", "--drain", "--yes")
	require.NoError(t, err)
	t.Logf("\n%s", out)
	require.Empty(t, s.MustClaims(""))
	machines, err := s.Sim.List(s.Ctx)
	require.NoError(t, err)
	require.Empty(t, machines)
	s.gone()
	s.replica.KillPod()
}

// plain wants nodes on which nothing of a claim is left.
func (s *scene) plain() {
	s.T.Helper()
	nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
	require.NoError(s.T, err)
	for _, n := range nodes.Items {
		require.NotContains(s.T, n.Labels, v1alpha1.ClaimLabel)
		require.Equal(s.T, "true", n.Annotations[v1alpha1.DoNotReleaseAnnotation])
		require.NotContains(s.T, n.Annotations, v1alpha1.RegisteredAnnotation)
		for _, taint := range n.Spec.Taints {
			require.Falsef(s.T, strings.HasPrefix(taint.Key, "muster.sh/") || taint.Key == corev1.TaintNodeUnschedulable, "%s: %v", n.Name, taint)
		}
	}
}

// gone deletes a mode and the base, in this order, and wants nothing of them to be left.
func (s *scene) gone() {
	s.T.Helper()
	for _, overlay := range []string{"place", "base"} {
		_, err := s.deleteOverlay(overlay)
		require.NoError(s.T, err)
	}
	for _, kind := range []string{"crd", "namespace", "validatingadmissionpolicy", "validatingadmissionpolicybinding"} {
		out, err := s.kubectl("get", kind, "-o", "name")
		require.NoError(s.T, err)
		require.NotContains(s.T, out, "muster.sh")
		require.NotContains(s.T, out, "muster-")
	}
}

// TestTheWayBackByHand runs what docs/uninstall.md says to do where there is kubectl and nothing else.
func TestTheWayBackByHand(t *testing.T) {
	s := begin(t)
	s.replica.KillPod()
	s.ChangeNode(s.MustClaims("kept")[0].Status.NodeName, func(n *corev1.Node) { // it was being closed when Muster died
		n.Spec.Unschedulable = true
		n.Annotations[v1alpha1.CordonedAnnotation] = "true"
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule})
	})
	page, err := os.ReadFile(filepath.Join(s.Plane.Tree.Root, "docs", "uninstall.md"))
	require.NoError(t, err)
	_, script, found := strings.Cut(string(page), "\n```sh\n")
	require.True(t, found)
	script, _, _ = strings.Cut(script, "\n```\n")
	programs := t.TempDir()
	kubectl := fmt.Sprintf("#!/bin/sh\nexec '%s' kubectl --kubeconfig='%s' \"$@\"\n", s.Plane.KubeProgram(), s.Plane.AdminKubeconfig)
	require.NoError(t, os.WriteFile(filepath.Join(programs, "kubectl"), []byte(kubectl), 0o700)) //nolint:gosec // a program
	shell := exec.CommandContext(s.Ctx, "sh", "-eu", "-c", script)
	shell.Env = []string{"HOME=" + programs, "PATH=" + programs + ":" + os.Getenv("PATH")}
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("\n%s", out)
	s.plain()
	require.Empty(t, s.MustClaims(""))
	s.gone()
	s.Await(soon, "both nodes to be open", s.undisturbed)
	s.noDestruction()
}
