package stories

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestAWordForAMachineThatNothingCanBeAskedAbout: the provider does not come back, so its machine is never proven gone and the claim
// keeps its slot. A person's word ends that; not while the machine's Node is Ready, and not for another machine.
func TestAWordForAMachineThatNothingCanBeAskedAbout(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Apply(stage.Pool("general", 1, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}))
	s.Place(stage.ReplicaOptions{})
	pod := s.Create(s.Pod("app", stage.Resources("cpu", "2")))[0]
	s.AwaitRunning(soon, pod)
	claim := s.AwaitClaims(soon, "general", 1, v1alpha1.ClaimReady)[0]
	s.Delete(pod)
	s.Await(soon, "the pod to be gone", func() error {
		if _, err := s.Get(pod); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	var p v1alpha1.Provider
	require.NoError(t, s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: stage.SimProvider}, &p))
	p.Spec.Endpoint = "http://127.0.0.1:1"
	require.NoError(t, s.Plane.Objects.Update(s.Ctx, &p))
	require.NoError(t, s.Plane.Objects.Delete(s.Ctx, &claim))
	confirm := func(args ...string) (string, error) {
		out, err := s.Kit.Muster(s.Ctx, append([]string{"confirm-gone", claim.Name, "--kubeconfig=" + s.Plane.AdminKubeconfig}, args...)...)
		return string(out), err
	}
	machine := "--machine=" + claim.Status.MachineID
	s.Await(soon, "the claim to be in Releasing", func() error {
		if c := s.MustClaims("general")[0]; c.Status.State != v1alpha1.ClaimReleasing || c.Status.Errors == 0 {
			return fmt.Errorf("it is %s: %s", c.Status.State, c.Status.Message)
		}
		return nil
	})
	_, err := confirm(machine, "--attempt=1", "--yes")
	require.ErrorContains(t, err, "node "+claim.Status.NodeName+" is Ready")
	loseKubelet(s, claim.Status.NodeName)
	_, err = confirm("--machine=other", "--attempt=1", "--yes")
	require.ErrorContains(t, err, "the machine of NodeClaim "+claim.Name+" is "+claim.Status.MachineID)
	_, err = confirm(machine, "--attempt=1")
	require.ErrorContains(t, err, "nothing was confirmed: give --yes when all of this is true")
	require.Len(t, s.MustClaims("general"), 1)
	out, err := confirm(machine, "--attempt=1", "--yes")
	require.NoError(t, err)
	t.Log(out)
	took := s.Await(soon, "claim and Node to be gone", func() error {
		claims, err := s.Claims("general")
		if err != nil || len(claims) > 0 {
			return errors.Join(fmt.Errorf("claim %s: %s", claim.Name, claims[0].Status.Message), err)
		}
		_, err = s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, claim.Status.NodeName, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("node %s is there: %v", claim.Status.NodeName, err)
		}
		return nil
	})
	t.Logf("gone %s after the word", took)
	require.Len(t, s.Machines(), 1)
}
