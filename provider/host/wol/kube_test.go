package wol_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/wol"
)

// switchOf is the switch of a host that a claim has.
func switchOf(h *v1alpha1.Host, k wol.Kube) wol.Switch {
	h.Status.Claim = &v1alpha1.HostClaim{Name: "std-000", UID: "uid", Attempt: 1}
	return wol.Switch{Host: h, Cluster: k, Bound: host.Bind(h, k.Now)}
}

// permit permits to switch such a host off, at Epoch.
func permit() host.Permit {
	return hosttest.Permits(switchOf(hosttest.Host(1, v1alpha1.Power{}), wol.Kube{}).Host, (&hosttest.Clock{}).Now)
}

type oneNode struct{ node *corev1.Node }

func (o oneNode) NodeOf(*v1alpha1.Host) *corev1.Node { return o.node }

func nodeWith(ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.7"}},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}

// leaseOf is a lease that says of itself that it was renewed so long ago.
func leaseOf(age time.Duration, lasts int32) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(hosttest.Epoch.Add(-age))
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: "node-1"},
		Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &lasts}}
}

// kubeWith is a cluster of one node, at Epoch.
func kubeWith(node *corev1.Node, answers bool, objects ...runtime.Object) (wol.Kube, *fake.Clientset) {
	cs := fake.NewClientset(objects...)
	return wol.Kube{Client: cs, Nodes: oneNode{node}, Pod: wol.DefaultPodConfig(), Now: (&hosttest.Clock{}).Now, Leases: &wol.Leases{},
		Answers: func(_ context.Context, at string) bool { return at == "10.0.0.7:10250" && answers }}, cs
}

// later is the cluster as it was looked at once, so much later.
func later(t *testing.T, k wol.Kube, d time.Duration) wol.Kube {
	_, err := k.Look(t.Context(), hosttest.Host(1, v1alpha1.Power{}))
	require.NoError(t, err)
	clock := &hosttest.Clock{}
	clock.Set(k.Now().Add(d))
	k.Now = clock.Now
	return k
}

func TestAHostIsOffWhenItsNodeIsNotReadyItsLeaseStaleAndItsPortSilent(t *testing.T) {
	gone := nodeWith(corev1.ConditionUnknown)
	for name, c := range map[string]struct {
		node    *corev1.Node
		answers bool
		lease   []runtime.Object
		silent  time.Duration
		want    host.Power
	}{
		"no node":                                 {nil, false, nil, time.Hour, host.Unknown},
		"ready":                                   {nodeWith(corev1.ConditionTrue), false, nil, time.Hour, host.On},
		"not ready, and its port answers":         {gone, true, []runtime.Object{leaseOf(0, 40)}, time.Hour, host.On},
		"not ready, and its lease was renewed":    {gone, false, []runtime.Object{leaseOf(0, 40)}, 79 * time.Second, host.On},
		"not ready, lease stale, and silent":      {gone, false, []runtime.Object{leaseOf(0, 40)}, 80 * time.Second, host.Off},
		"a lease that lasts longer":               {gone, false, []runtime.Object{leaseOf(0, 60)}, 81 * time.Second, host.On},
		"the clock of its node is ten years back": {gone, false, []runtime.Object{leaseOf(10*365*24*time.Hour, 40)}, 79 * time.Second, host.On},
		"the clock of its node is an hour ahead":  {gone, false, []runtime.Object{leaseOf(-time.Hour, 40)}, 80 * time.Second, host.Off},
		"not ready, silent, and without a lease":  {gone, false, nil, time.Hour, host.Unknown},
		"a lease that was never renewed": {gone, false, []runtime.Object{&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: "node-1"}}}, time.Hour, host.Unknown},
	} {
		k, _ := kubeWith(c.node, c.answers, c.lease...)
		k = later(t, k, c.silent)
		r, err := switchOf(hosttest.Host(1, v1alpha1.Power{}), k).Read(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, c.want, r.Power, name)
	}
}

func TestWhatTheAPIServerDoesNotSayIsUnknown(t *testing.T) {
	k, cs := kubeWith(nodeWith(corev1.ConditionUnknown), false, leaseOf(0, 40))
	k = later(t, k, time.Hour)
	s := switchOf(hosttest.Host(1, v1alpha1.Power{}), k)
	for resource, err := range map[string]error{"leases": errors.New("etcd is away"), "pods": errors.New("etcd is away")} {
		broken := err
		cs.PrependReactor("*", resource, func(k8stesting.Action) (bool, runtime.Object, error) { return broken != nil, nil, broken })
		_, got := s.Read(t.Context())
		require.ErrorIs(t, got, provider.ErrUnknown, resource)
		broken = nil
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "node-1", errors.New("no"))
	cs.PrependReactor("get", "leases", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	_, err := s.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.Contains(t, provider.HintOf(err), "components/poweroff")
}

func TestThePodThatSwitchesANodeOff(t *testing.T) {
	k, cs := kubeWith(nodeWith(corev1.ConditionTrue), false)
	k.Pod = wol.PodConfigOf(&v1alpha1.HostRules{PowerOff: v1alpha1.PowerOffPod{Namespace: "off", Image: "registry.example/off:1",
		Command: []string{"poweroff"}, Deadline: &metav1.Duration{Duration: time.Minute}}})
	require.NoError(t, switchOf(hosttest.Host(1, v1alpha1.Power{}), k).Shutdown(t.Context(), permit()))
	pod, err := cs.CoreV1().Pods("off").Get(t.Context(), "poweroff-host-01", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{wol.HostLabel: "host-01"}, pod.Labels)
	require.Equal(t, corev1.PodSpec{
		NodeName: "node-1", HostPID: true, HostNetwork: true, RestartPolicy: corev1.RestartPolicyNever,
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(int64(0)), ActiveDeadlineSeconds: ptr.To(int64(60)),
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{Name: "poweroff", Image: "registry.example/off:1", Command: []string{"poweroff"},
			SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true), RunAsUser: ptr.To(int64(0)), ReadOnlyRootFilesystem: ptr.To(true)}}},
	}, pod.Spec)
}

func TestThePodIsMadeOnceAgainWhenItEndedAndRemovedWhenItsNodeIsOff(t *testing.T) {
	k, cs := kubeWith(nodeWith(corev1.ConditionTrue), false, leaseOf(time.Hour, 40))
	s := switchOf(hosttest.Host(1, v1alpha1.Power{}), k)
	require.NoError(t, s.Shutdown(t.Context(), permit()))
	require.NoError(t, s.Off(t.Context(), permit()), "twice is one")
	pods := cs.CoreV1().Pods("muster-poweroff")
	pod, err := pods.Get(t.Context(), "poweroff-host-01", metav1.GetOptions{})
	require.NoError(t, err)
	pod.Status.Phase = corev1.PodFailed // past its deadline, for example
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Off(t.Context(), permit()))
	pod, err = pods.Get(t.Context(), "poweroff-host-01", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, pod.Status.Phase, "made anew")

	k.Nodes = oneNode{nodeWith(corev1.ConditionUnknown)}
	s.Cluster = later(t, k, time.Hour)
	r, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, host.Off, r.Power)
	_, err = pods.Get(t.Context(), "poweroff-host-01", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "it would switch the host off again when it wakes")
	removed := cs.Actions()[len(cs.Actions())-2].(k8stesting.DeleteAction)
	require.EqualValues(t, 0, *removed.GetDeleteOptions().GracePeriodSeconds, "no kubelet is there to confirm it")
	_, err = s.Read(t.Context())
	require.NoError(t, err, "and again")
}

func TestAPodThatMayNotBeMadeIsTheOperators(t *testing.T) {
	k, cs := kubeWith(nodeWith(corev1.ConditionTrue), false)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "poweroff-host-01", errors.New("no"))
	cs.PrependReactor("*", "pods", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	s := switchOf(hosttest.Host(1, v1alpha1.Power{MAC: "52:54:00:aa:bb:01", Broadcast: "127.0.0.1"}), k)
	for name, err := range map[string]error{"off": s.Off(t.Context(), permit()), "on": s.On(t.Context(), "")} {
		require.ErrorIs(t, err, provider.ErrMisconfigured, name)
		require.Contains(t, provider.HintOf(err), "components/poweroff", name)
	}
}

// A lease that is renewed, or made anew, counts as heard of, whatever time it names.
func TestM19ARenewedLeaseIsHeardOf(t *testing.T) {
	k, cs := kubeWith(nodeWith(corev1.ConditionUnknown), false, leaseOf(0, 40))
	k = later(t, k, 79*time.Second)
	renewed := leaseOf(time.Hour, 40)
	_, err := cs.CoordinationV1().Leases("kube-node-lease").Update(t.Context(), renewed, metav1.UpdateOptions{})
	require.NoError(t, err)
	k = later(t, k, 79*time.Second)
	s := wol.Switch{Host: hosttest.Host(1, v1alpha1.Power{}), Cluster: k}
	r, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, host.On, r.Power, "renewed 79 s ago")
	s.Cluster = later(t, k, time.Second)
	r, err = s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, host.Off, r.Power)
}

// The Node that answers for the host reports another machine's UUID by now, or the gate refuses: no Pod is made.
func TestM09ANodeOfAnotherMachineIsNotSwitchedOff(t *testing.T) {
	for name, c := range map[string]struct {
		uuid   string
		permit host.Permit
		err    error
	}{
		"another UUID":     {hosttest.UUID(7), permit(), provider.ErrBusy},
		"no UUID any more": {"", permit(), provider.ErrBusy},
		"no proof":         {hosttest.UUID(1), nil, provider.ErrBusy},
	} {
		node := nodeWith(corev1.ConditionTrue)
		node.Status.NodeInfo.SystemUUID = c.uuid
		k, cs := kubeWith(node, false)
		s := switchOf(hosttest.Host(1, v1alpha1.Power{MAC: "52:54:00:aa:bb:01"}), k)
		s.Host.Status.Identity = &v1alpha1.MachineIdentity{MAC: "52:54:00:aa:bb:01", SystemUUID: hosttest.UUID(1)}
		s.Host.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionIdentified, Status: metav1.ConditionTrue, Reason: "Identified"}}
		require.ErrorIs(t, s.Shutdown(t.Context(), c.permit), c.err, name)
		require.ErrorIs(t, s.Off(t.Context(), c.permit), c.err, name)
		pods, err := cs.CoreV1().Pods("muster-poweroff").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, pods.Items, name)
	}
}
