package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// smallPool has one machine for each pod of 1200m.
func smallPool(name string, most int32, edits ...func(*v1alpha1.NodePool)) *v1alpha1.NodePool {
	return stage.Pool(name, most, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, edits...)
}

// deleting is what an object says of its deletion.
func deleting(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionDeleting); c != nil {
		return c.Reason + ": " + c.Message
	}
	return ""
}

// gone is nil when an object is.
func gone(s *stage.Stage, o client.Object) error {
	err := s.Plane.Objects.Get(s.Ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("it has the finalizers %v", o.GetFinalizers())
	}
	return err
}

// toldOf are the events of an object without a namespace, by their reasons.
func toldOf(s *stage.Stage, name string) (reasons []string) {
	list, err := s.Plane.Client.CoreV1().Events(metav1.NamespaceDefault).List(s.Ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	require.NoError(s.T, err)
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// TestADeletedPoolIsDrainedAndGone: its nodes go one after the other, as the pool's budget and the pods' own allow; the pods run on
// another pool's nodes at the end, and the pool says how far it is and goes with its last node.
func TestADeletedPoolIsDrainedAndGone(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend("--boot-min=200ms", "--boot-median=300ms", "--boot-max=500ms", "--delete-time=200ms")
	s.Apply(smallPool("old", 4, func(p *v1alpha1.NodePool) { p.Spec.Limits.MinNodes = 1 }))
	s.Place(stage.ReplicaOptions{})
	replicas(s, "web", 2, stage.Resources("cpu", "1200m"))
	s.AwaitClaims(soon, "old", 2, v1alpha1.ClaimReady)
	s.Await(soon, "the pods to run", func() error { _, err := runningOn(s, 2); return err })
	one := intstr.FromInt32(1)
	_, err := s.Plane.Client.PolicyV1().PodDisruptionBudgets(s.Namespace).Create(s.Ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Contains(t, s.Pool("old").Finalizers, v1alpha1.PoolFinalizer)
	s.Apply(smallPool("new", 4))
	require.NoError(t, s.Plane.Objects.Delete(s.Ctx, s.Pool("old")))

	var last string
	took := s.Await(soon, "the pool to be gone", func() error {
		claims, err := s.Claims("old")
		if err != nil {
			return err
		}
		out := 0
		for _, c := range claims {
			if c.Spec.Release != nil {
				require.Equal(t, "PoolDeleted", c.Spec.Release.Reason)
				out++
			}
		}
		require.LessOrEqual(t, out, 1, "a tenth of the nodes, at least one, at a time")
		pods, err := s.List()
		if err != nil {
			return err
		}
		running := 0
		for _, p := range pods {
			if s.Running(p) == nil {
				running++
			}
		}
		require.GreaterOrEqual(t, running, 1, "the pods' budget")
		p := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "old"}}
		err = gone(s, p)
		if text := deleting(p.Status.Conditions); err != nil && text != last {
			t.Log(text)
			last = text
		}
		return err
	})
	t.Logf("gone after %s", took.Round(time.Second))
	require.Contains(t, last, "ReleasingNodes: 1 of 2 nodes released; waiting for old-")
	require.Empty(t, s.MustClaims("old"))
	require.Subset(t, toldOf(s, "old"), []string{"ReleasingNodes"})
	s.Await(soon, "the pods to run elsewhere", func() error {
		nodes, err := runningOn(s, 2)
		if err == nil && slices.ContainsFunc(nodes, func(n string) bool { return !strings.HasPrefix(n, "new-") }) {
			err = fmt.Errorf("they run on %v", nodes)
		}
		return err
	})
	s.WholeAndPaired()
}

// TestADeletedPoolKeepsItsNodes: the annotation comes after the deletion. Claims and pool go; nodes, pods and machines stay, and are in
// nobody's way: the Provider can be deleted, too.
func TestADeletedPoolKeepsItsNodes(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend("--boot-min=200ms", "--boot-median=300ms", "--boot-max=500ms")
	s.Apply(smallPool("std", 2, func(p *v1alpha1.NodePool) {
		p.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(0)}}
	}))
	s.Place(stage.ReplicaOptions{})
	replicas(s, "web", 2, stage.Resources("cpu", "1200m"))
	claims := s.AwaitClaims(soon, "std", 2, v1alpha1.ClaimReady)
	s.Await(soon, "the pods to run", func() error { _, err := runningOn(s, 2); return err })
	before, err := s.List()
	require.NoError(t, err)
	require.NoError(t, s.Plane.Objects.Delete(s.Ctx, s.Pool("std")))
	s.Await(soon, "the pool to say what it waits for", func() error {
		if text := deleting(s.Pool("std").Status.Conditions); !strings.Contains(text, "ReleasingNodes: 0 of 2 nodes released; waiting for std-000: Budget (nodes 0: 0 of 2") {
			return fmt.Errorf("it says %q", text)
		}
		return nil
	})
	s.ChangePool("std", func(p *v1alpha1.NodePool) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.KeepNodesAnnotation, "true")
	})
	s.Await(soon, "the pool to be gone", func() error { return gone(s, &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "std"}}) })
	require.Empty(t, s.MustClaims("std"))
	require.Subset(t, toldOf(s, "std"), []string{"KeepingNodes"})
	s.Await(soon, "the nodes to be plain nodes", func() error {
		for _, c := range claims {
			var n corev1.Node
			if err := s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: c.Status.NodeName}, &n); err != nil {
				return stage.Never("%w", err)
			}
			if n.Annotations[v1alpha1.DoNotReleaseAnnotation] != "true" || n.Spec.Unschedulable || len(n.Spec.Taints) > 0 {
				return stage.Never("node %s has %v and %v", n.Name, n.Annotations, n.Spec)
			}
			if n.Labels[v1alpha1.ClaimLabel] != "" || n.Annotations[v1alpha1.RegisteredAnnotation] != "" {
				return fmt.Errorf("node %s still has the marks of claim %s", n.Name, c.Name)
			}
		}
		return nil
	})
	machines, err := s.Sim.List(s.Ctx)
	require.NoError(t, err)
	require.Len(t, machines, 2)
	after, err := s.List()
	require.NoError(t, err)
	for uid := range before {
		require.NoError(t, s.Running(after[uid]), "nobody touched it")
	}
	var p v1alpha1.Provider
	require.NoError(t, s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: stage.SimProvider}, &p))
	require.Len(t, p.Status.KeptMachines, 2)
	require.NoError(t, s.Plane.Objects.Delete(s.Ctx, &p))
	s.Await(soon, "the Provider to be gone", func() error { return gone(s, &p) })
	calls, err := s.Sim.Calls(s.Ctx)
	require.NoError(t, err)
	for _, call := range calls {
		require.NotContains(t, []string{"delete", "stop"}, call.Verb)
	}
}

// TestAProviderThatIsInUseIsHeld: it says what needs it and makes nothing new, its machines can be released, and it goes with the last.
func TestAProviderThatIsInUseIsHeld(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend("--boot-min=200ms", "--boot-median=300ms", "--boot-max=500ms", "--delete-time=200ms")
	s.Apply(smallPool("std", 3))
	s.Place(stage.ReplicaOptions{})
	replicas(s, "web", 1, stage.Resources("cpu", "1200m"))
	claim := s.AwaitClaims(soon, "std", 1, v1alpha1.ClaimReady)[0]
	p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: stage.SimProvider}}
	require.NoError(t, s.Plane.Objects.Delete(s.Ctx, p))
	s.Await(soon, "the Provider to say what needs it", func() error {
		require.NoError(t, s.Plane.Objects.Get(s.Ctx, client.ObjectKeyFromObject(p), p))
		if text := deleting(p.Status.Conditions); !strings.Contains(text, "InUse: 1 NodeClaims need it: "+claim.Name+". Nothing new is provisioned from it") {
			return fmt.Errorf("it says %q", text)
		}
		return nil
	})
	require.Contains(t, toldOf(s, stage.SimProvider), "InUse")
	more := s.Create(s.Pod("more", stage.Resources("cpu", "1200m")))[0]
	s.Await(soon, "a pod to be told that nothing is bought", func() error {
		now, err := s.Get(more)
		if err != nil {
			return err
		}
		if c := stage.Condition(now, v1alpha1.CapacityCondition); c == nil || !strings.Contains(c.Message, "provider sim is being deleted") && !strings.Contains(c.Message, "sim is being deleted") {
			return fmt.Errorf("it is told %v", c)
		}
		return nil
	})
	require.Len(t, s.MustClaims("std"), 1)
	s.Delete(more)

	claimedHostStays(s)
	require.NoError(t, s.Plane.Objects.Delete(s.Ctx, s.Pool("std")))
	s.Await(soon, "the pool to be gone", func() error { return gone(s, &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "std"}}) })
	s.Await(soon, "the Provider to be gone", func() error { return gone(s, p) })
	machines, err := s.Sim.List(s.Ctx)
	require.NoError(t, err)
	require.Empty(t, machines)
}

// claimedHostStays: the API server refuses to make a claimed Host another machine's, and nothing else.
func claimedHostStays(s *stage.Stage) {
	create(s, &v1alpha1.Host{ObjectMeta: metav1.ObjectMeta{Name: "metal-01"}, Spec: v1alpha1.HostSpec{
		Provider: "metal", SystemUUID: metalUUID(1), Resources: stage.Resources("cpu", "8", "memory", "16Gi"),
		Power: v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: "https://127.0.0.1:1", Credentials: &v1alpha1.SecretReference{Namespace: s.Namespace, Name: "bmc"}},
	}})
	edit := func(write func(client.Object) error, change func(*v1alpha1.Host)) error {
		var h v1alpha1.Host
		require.NoError(s.T, s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: "metal-01"}, &h))
		change(&h)
		return write(&h)
	}
	spec := func(o client.Object) error { return s.Plane.Objects.Update(s.Ctx, o) }
	status := func(o client.Object) error { return s.Plane.Objects.Status().Update(s.Ctx, o) }
	elsewhere := func(h *v1alpha1.Host) { h.Spec.Provider = "room" }
	readdressed := func(h *v1alpha1.Host) { h.Spec.Power.Address = "https://127.0.0.1:2" }
	resystemed := func(h *v1alpha1.Host) { h.Spec.Power.System = "2" }
	require.NoError(s.T, edit(status, func(h *v1alpha1.Host) {
		h.Status.State, h.Status.Claim = v1alpha1.HostReady, &v1alpha1.HostClaim{Name: "std-000", UID: "u", At: metav1.NowMicro()}
	}))
	require.ErrorContains(s.T, edit(spec, elsewhere), "spec.provider cannot change while a NodeClaim has the host")
	require.ErrorContains(s.T, edit(spec, readdressed), "spec.power.address cannot change while a NodeClaim has the host")
	require.ErrorContains(s.T, edit(spec, resystemed), "spec.power.system cannot change while a NodeClaim has the host")
	require.NoError(s.T, edit(spec, func(h *v1alpha1.Host) { h.Spec.Rack = "r7" }))
	require.NoError(s.T, edit(status, func(h *v1alpha1.Host) { h.Status.State, h.Status.Claim = v1alpha1.HostOff, nil }))
	for _, change := range []func(*v1alpha1.Host){readdressed, resystemed, elsewhere} {
		require.NoError(s.T, edit(spec, change))
	}
}
