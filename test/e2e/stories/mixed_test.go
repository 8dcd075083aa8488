package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestProxmoxAndHostsStandInForEachOther: VMs come first. Where Proxmox answers nobody, hosts are powered on, also for the pod
// whose VM was ordered already; where it has no room, too. Later hosts come first, and where all are taken, VMs are made.
// Each pod has a port of its node, so that each needs a machine.
func TestProxmoxAndHostsStandInForEachOther(t *testing.T) {
	const hosts = 4
	s := stage.New(t, kit)
	l := newLab(s)
	m := newMetal(s, hosts, nil)
	s.Watch(families{l, m})
	vms := labNodes(20)
	vms.Spec.Weight = 10
	vms.Spec.ScaleUp.RegistrationTimeout = &metav1.Duration{Duration: 20 * time.Second}
	s.Apply(vms, stage.Pool("metal", 2*hosts, []v1alpha1.Shape{stage.Shape("h", "cpu", "8", "memory", "16Gi")},
		func(p *v1alpha1.NodePool) { p.Spec.Provider = "metal" }))
	replica := s.Place(stage.ReplicaOptions{})
	pod := func(name string) *corev1.Pod {
		return s.Pod(name, stage.Resources("cpu", "3"), stage.WithHostPort(8080))
	}
	s.Await(soon, "Proxmox to answer", func() error { return answers(s, "lab", metav1.ConditionTrue) })

	l.reachable(false)
	caught := s.Create(pod("caught"))
	s.AwaitClaims(soon, "lab", 1, v1alpha1.ClaimLaunching)
	s.Await(soon, "Proxmox to be known not to answer", func() error { return answers(s, "lab", metav1.ConditionFalse) })
	later := s.Create(pod("later"))
	t.Logf("with Proxmox away the later pod ran after %s", s.AwaitRunning(soon, later...).Round(time.Second))
	t.Logf("and the one whose VM was ordered %s later", s.AwaitRunning(2*time.Minute, caught...).Round(time.Second))
	runsOn(s, "metal", append(caught, later...)...)

	l.reachable(true)
	s.Await(soon, "Proxmox to answer again", func() error { return answers(s, "lab", metav1.ConditionTrue) })
	s.AwaitClaims(2*time.Minute, "lab", 0, "")
	require.Empty(t, l.ours(), "what was ordered and given up is not there")
	again := s.Create(pod("again"))
	t.Logf("back on Proxmox the pod ran after %s", s.AwaitRunning(soon, again...).Round(time.Second))
	runsOn(s, "lab", again...)

	l.keepFree("500Gi")
	full := s.Create(pod("full"))
	t.Logf("without room on Proxmox the pod ran after %s", s.AwaitRunning(soon, full...).Round(time.Second))
	runsOn(s, "metal", full...)
	require.Len(t, l.ours(), 1, "nothing was made where there is no room")
	l.keepFree("1Gi")

	s.ChangePool("metal", func(p *v1alpha1.NodePool) { p.Spec.Weight = 20 })
	last := s.Create(pod("last"), pod("too-many"))
	t.Logf("with one host left two pods ran after %s", s.AwaitRunning(3*time.Minute, last...).Round(time.Second))
	require.Equal(t, hosts, m.on(), "every host serves")
	require.Len(t, l.ours(), 2, "and a VM stands in for the one that there is not")
	s.WholeAndPaired()
	l.sameIdentities()
	l.othersUntouched()
	keepsSecret(s, replica, labCanary)
	keepsSecret(s, replica, bmcCanary)
}

func runsOn(s *stage.Stage, pool string, pods ...*corev1.Pod) {
	s.T.Helper()
	for _, p := range pods {
		bound, err := s.Get(p)
		require.NoError(s.T, err)
		require.Equal(s.T, pool, s.NodeOf(bound).Labels[v1alpha1.PoolLabel], p.Name)
	}
}

// answers wants the Ready condition of a Provider to be so.
func answers(s *stage.Stage, name string, want metav1.ConditionStatus) error {
	var p v1alpha1.Provider
	if err := s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: name}, &p); err != nil {
		return err
	}
	if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Status != want {
		return fmt.Errorf("its condition is %v", ready)
	}
	return nil
}
