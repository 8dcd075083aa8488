package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestFortyProxmoxVMsWhileTheirAPIFailsAndAHostGoes: forty pods need a VM each, a twentieth of all requests goes wrong, and one
// of three hosts is offline for a while. Every pod runs; when the load leaves, every VM goes, and nothing else was touched.
func TestFortyProxmoxVMsWhileTheirAPIFailsAndAHostGoes(t *testing.T) {
	const machines = 40
	s := stage.New(t, kit)
	l := newLab(s)
	s.Watch(l)
	pool := labNodes(machines)
	pool.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{Duration: 3 * time.Second}}
	pool.Spec.ScaleUp.MaxAttempts = 10 // three tasks in a row may fail
	s.Apply(pool)
	replica := s.Place(stage.ReplicaOptions{})

	l.trouble(4)
	begin := time.Now()
	var pods []*corev1.Pod
	for n := range machines {
		pods = append(pods, s.Pod(fmt.Sprintf("work-%02d", n), stage.Resources("cpu", "3", "memory", "1Gi")))
	}
	pods = s.Create(pods...)
	s.Await(soon, "the first VMs", func() error { return atLeast(12, len(l.ours())) })
	l.cluster.Online("pve3", false)
	t.Logf("pve3 went offline with %d VMs on it, %s after the pods came", l.on("pve3"), time.Since(begin).Round(time.Second))
	s.Await(2*time.Minute, "two thirds of the pods to be bound without pve3", func() error { return s.AtLeastBound(2*machines/3, pods...) })
	t.Logf("two thirds were bound after %s", time.Since(begin).Round(time.Second))
	l.cluster.Online("pve3", true)
	s.AwaitRunning(6*time.Minute, pods...)
	t.Logf("all pods ran after %s", time.Since(begin).Round(time.Second))
	l.calm()
	s.WholeAndPaired()
	for host, most := range l.clones {
		require.LessOrEqual(t, most, labClones, "clones at once on %s", host)
	}
	l.sameIdentities()

	l.trouble(5)
	begin = time.Now()
	s.DeletePods()
	s.Await(3*time.Minute, "every VM to be gone", func() error {
		claims, err := s.Claims("lab")
		if err == nil {
			err = l.empty()
		}
		if err == nil && len(claims) > 0 {
			err = fmt.Errorf("claim %s is %s: %s", claims[0].Name, claims[0].Status.State, claims[0].Status.Message)
		}
		return err
	})
	t.Logf("all VMs were gone %s after the pods", time.Since(begin).Round(time.Second))
	l.calm()
	nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, nodes.Items)
	l.othersUntouched()
	keepsSecret(s, replica, labCanary)
}

func atLeast(want, have int) error {
	if have < want {
		return fmt.Errorf("%d of %d", have, want)
	}
	return nil
}

// on counts Muster's VMs on a host.
func (l *lab) on(host string) (n int) {
	for _, vm := range l.ours() {
		if vm.Host == host {
			n++
		}
	}
	return n
}

// sameIdentities compares VM, claim and Node of each machine: number, SMBIOS UUID, name, host.
func (l *lab) sameIdentities() {
	t := l.s.T
	t.Helper()
	ours := l.ours()
	for _, c := range l.s.MustClaims("lab") {
		node, err := l.s.Plane.Client.CoreV1().Nodes().Get(l.s.Ctx, c.Status.NodeName, metav1.GetOptions{})
		require.NoError(t, err)
		var id int
		_, err = fmt.Sscanf(node.Spec.ProviderID, "proxmox://lab/%d", &id)
		require.NoError(t, err)
		vm := ours[id]
		require.Equal(t, "uuid="+node.Status.NodeInfo.SystemUUID, vm.Config["smbios1"])
		require.Equal(t, c.Status.SystemUUID, node.Status.NodeInfo.SystemUUID)
		require.Equal(t, node.Name, vm.Config["name"])
		require.Equal(t, vm.Host, c.Status.Host)
		require.Equal(t, vm.Host, node.Labels[corev1.LabelTopologyZone])
		require.Equal(t, fmt.Sprint(id), node.Labels["example.org/vmid"])
		require.Equal(t, labPool, vm.Pool)
		require.Equal(t, 1, vm.Starts)
	}
}
