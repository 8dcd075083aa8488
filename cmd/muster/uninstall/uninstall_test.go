package uninstall_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/cmd/muster/uninstall"
)

var schedulerLease = types.NamespacedName{Namespace: "kube-system", Name: "muster-scheduler"}

const (
	foreignFinalizer = "example.org/other"
)

// installed is a cluster with Muster in it, stopped, in the middle of its work: a claim whose node drains, one that is ready, one
// that is being made, and a foreign node that is cordoned.
func installed() []client.Object {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}
	}
	claim := func(name string, state v1alpha1.ClaimState, node string, finalizers ...string) *v1alpha1.NodeClaim {
		c := &v1alpha1.NodeClaim{ObjectMeta: named(name)}
		c.Finalizers = append(finalizers, v1alpha1.ClaimFinalizer)
		c.Spec.Pool, c.Spec.Provider = "p", "px"
		c.Status = v1alpha1.NodeClaimStatus{State: state, NodeName: node}
		if node != "" {
			c.Status.MachineID, c.Status.ProviderID = "vm-"+node, "px://"+node
		}
		return c
	}
	node := func(name, claim string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: named(name), Spec: corev1.NodeSpec{ProviderID: "px://" + name}}
		n.Labels = map[string]string{v1alpha1.PoolLabel: "p", v1alpha1.ClaimLabel: claim, "rack": "r1"}
		n.Annotations = map[string]string{v1alpha1.RegisteredAnnotation: "uid-" + claim}
		return n
	}
	draining, foreign, late := node("a", "p-000"), &corev1.Node{ObjectMeta: named("foreign")}, &corev1.Node{ObjectMeta: named("late")}
	draining.Spec.Unschedulable = true
	draining.Annotations[v1alpha1.CordonedAnnotation] = "true"
	draining.Spec.Taints = []corev1.Taint{
		{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule}, {Key: "team", Effect: corev1.TaintEffectNoSchedule},
	}
	foreign.Spec.Unschedulable = true
	late.Spec.ProviderID = "px://late" // registered a moment ago: without a mark, and a claim's all the same
	lateClaim := claim("p-003", v1alpha1.ClaimJoining, "late")
	lateClaim.Status.NodeName = ""
	pool, host, prov := &v1alpha1.NodePool{ObjectMeta: named("p")}, &v1alpha1.Host{ObjectMeta: named("h")}, &v1alpha1.Provider{ObjectMeta: named("px")}
	pool.Finalizers, host.Finalizers = []string{v1alpha1.PoolFinalizer}, []string{v1alpha1.HostFinalizer, foreignFinalizer}
	policy, binding := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: named("muster-removal")}, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named("muster-removal")}
	policy.Finalizers, binding.Finalizers = []string{v1alpha1.RemovalFinalizer}, []string{v1alpha1.RemovalFinalizer}
	holder, seconds := "host_uid", int32(15)
	return []client.Object{
		claim("p-000", v1alpha1.ClaimDraining, "a"), claim("p-001", v1alpha1.ClaimReady, "b"), claim("p-002", v1alpha1.ClaimLaunching, ""), lateClaim,
		draining, node("b", "p-001"), foreign, late, pool, host, prov, policy, binding,
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: named("nodeclaims.muster.sh")},
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: named("nodepools.karpenter.sh")},
		&corev1.Namespace{ObjectMeta: named("muster-system")}, &corev1.Namespace{ObjectMeta: named("default")},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: schedulerLease.Namespace, Name: schedulerLease.Name},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds}},
	}
}

// cluster is an API server with what is installed.
type cluster struct {
	client.WithWatch
	t   *testing.T
	out bytes.Buffer
}

func newCluster(t *testing.T, funcs interceptor.Funcs, more ...client.Object) *cluster {
	t.Helper()
	scheme, err := kube.Scheme()
	require.NoError(t, err)
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	return &cluster{t: t, WithWatch: fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(installed(), more...)...).
		WithStatusSubresource(&v1alpha1.Provider{}).WithInterceptorFuncs(funcs).Build()}
}

func (c *cluster) uninstall(do bool) *uninstall.Uninstall {
	return &uninstall.Uninstall{Objects: c, Out: &c.out, Leases: []types.NamespacedName{schedulerLease}, Do: do}
}

func (c *cluster) read(o client.Object, name string) {
	c.t.Helper()
	require.NoError(c.t, c.Get(c.t.Context(), client.ObjectKey{Name: name}, o))
}

func (c *cluster) claims() []v1alpha1.NodeClaim {
	c.t.Helper()
	var list v1alpha1.NodeClaimList
	require.NoError(c.t, c.List(c.t.Context(), &list))
	return list.Items
}

// kept wants the end of Keep: plain nodes, no claims, no finalizer of ours, everything allowed.
func (c *cluster) kept() {
	c.t.Helper()
	require.Empty(c.t, c.claims())
	for _, name := range []string{"a", "b", "late"} {
		var n corev1.Node
		c.read(&n, name)
		require.False(c.t, n.Spec.Unschedulable, name)
		require.NotContains(c.t, n.Labels, v1alpha1.ClaimLabel)
		require.Equal(c.t, map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}, n.Annotations, name)
		for _, taint := range n.Spec.Taints {
			require.Equal(c.t, "team", taint.Key)
		}
	}
	var n corev1.Node
	c.read(&n, "foreign")
	require.True(c.t, n.Spec.Unschedulable)
	require.Empty(c.t, n.Annotations)
	var (
		pool v1alpha1.NodePool
		host v1alpha1.Host
		prov v1alpha1.Provider
	)
	c.read(&prov, "px")
	require.Len(c.t, prov.Status.KeptMachines, 3)
	require.True(c.t, prov.Status.Keeps("uid-p-000") && prov.Status.Keeps("uid-p-001"))
	c.read(&pool, "p")
	require.Empty(c.t, pool.Finalizers)
	c.read(&host, "h")
	require.Equal(c.t, []string{foreignFinalizer}, host.Finalizers)
	c.allowed("true")
}

// allowed wants this mark on what is ours and none on what is not, and the protection to be deletable with it.
func (c *cluster) allowed(mark string) {
	c.t.Helper()
	var (
		crd     apiextensionsv1.CustomResourceDefinition
		ns      corev1.Namespace
		policy  admissionv1.ValidatingAdmissionPolicy
		binding admissionv1.ValidatingAdmissionPolicyBinding
	)
	c.read(&crd, "nodeclaims.muster.sh")
	require.Equal(c.t, mark, crd.Annotations[v1alpha1.RemovalAllowedAnnotation])
	c.read(&ns, "muster-system")
	require.Equal(c.t, mark, ns.Annotations[v1alpha1.RemovalAllowedAnnotation])
	c.read(&policy, "muster-removal")
	require.Equal(c.t, mark == "true", len(policy.Finalizers) == 0)
	c.read(&binding, "muster-removal")
	require.Equal(c.t, mark == "true", len(binding.Finalizers) == 0)
	c.read(&crd, "nodepools.karpenter.sh")
	require.Empty(c.t, crd.Annotations)
	c.read(&ns, "default")
	require.Empty(c.t, ns.Annotations)
}

func TestKeepMakesPlainNodesAndAllowsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{})
		require.NoError(t, c.uninstall(true).Keep(t.Context()))
		c.kept()
		require.Contains(t, c.out.String(), "make node a a plain node and open it\n")
		require.Contains(t, c.out.String(), "remove claim p-000 and keep machine vm-a of provider px, which is node a\n")
		require.Contains(t, c.out.String(), "remove claim p-002 and keep what provider px may have made for it (Launching ): look after it yourself\n")
		require.Contains(t, c.out.String(), "kubectl delete -k deploy/base")

		c.out.Reset()
		require.NoError(t, c.uninstall(true).Keep(t.Context()))
		require.NotContains(t, c.out.String(), "node a", "a second run finds nothing to do")
		c.kept()
	})
}

func TestWithoutYesNothingIsWritten(t *testing.T) {
	writes := 0
	count := interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			writes++
			return nil
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			writes++
			return nil
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			writes++
			return nil
		},
	}
	c := newCluster(t, count)
	require.NoError(t, c.uninstall(false).Keep(t.Context()))
	require.NoError(t, c.uninstall(false).Drain(t.Context()))
	require.Zero(t, writes)
	require.Contains(t, c.out.String(), "would remove claim p-001 and keep machine vm-b")
	require.Contains(t, c.out.String(), "would delete pool p\n")
	require.Contains(t, c.out.String(), "would allow CustomResourceDefinition nodeclaims.muster.sh to be deleted\n")
	require.Contains(t, c.out.String(), "--yes")
}

// Keep is ended after each of its writes, as by a crash, and run again. At no time is a claim deleted while our finalizer is on
// it: that would be the order to destroy its machine.
func TestKeepIsEndedAnywhereAndRunAgain(t *testing.T) {
	ended, written := errors.New("ended"), 0
	for last := 0; ; last++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			left := last
			allow := func(do func() error) error {
				if left == 0 {
					return ended
				}
				left--
				written++
				return do()
			}
			c := newCluster(t, interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					return allow(func() error { return c.Patch(ctx, o, p, opts...) })
				},
				SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
					return allow(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
				},
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					require.NotContains(t, o.GetFinalizers(), v1alpha1.ClaimFinalizer)
					return allow(func() error { return c.Delete(ctx, o, opts...) })
				},
			})
			err := c.uninstall(true).Keep(t.Context())
			if done = err == nil; !done {
				require.ErrorIs(t, err, ended)
				for _, claim := range c.claims() {
					require.Nil(t, claim.DeletionTimestamp, claim.Name)
				}
				c.allowedOnlyWithoutClaims()
			}
			left = 1000
			require.NoError(t, c.uninstall(true).Keep(t.Context()))
			c.kept()
		})
		if done {
			break
		}
	}
	require.Greater(t, written, 15)
}

func (c *cluster) allowedOnlyWithoutClaims() {
	c.t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	c.read(&crd, "nodeclaims.muster.sh")
	if crd.Annotations[v1alpha1.RemovalAllowedAnnotation] == "true" {
		require.Empty(c.t, c.claims())
	}
}

// A Muster that runs unseen puts its finalizer back on. The claim is not deleted then.
func TestKeepStopsWhereAMusterRunsUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := c.Patch(ctx, o, p, opts...); err != nil {
					return err
				}
				if claim, ok := o.(*v1alpha1.NodeClaim); ok {
					back := claim.DeepCopy()
					back.Finalizers = append(back.Finalizers, v1alpha1.ClaimFinalizer)
					return c.Update(ctx, back)
				}
				return nil
			},
		})
		err := c.uninstall(true).Keep(t.Context())
		require.ErrorContains(t, err, "see that no Muster runs")
		require.Len(t, c.claims(), 4)
		for _, claim := range c.claims() {
			require.Nil(t, claim.DeletionTimestamp)
		}
		c.allowed("")
	})
}

// Claims that are being deleted already, with their definition, only lose what holds them.
func TestKeepEndsClaimsThatAreBeingDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{})
		for _, claim := range c.claims() {
			require.NoError(t, c.Delete(t.Context(), &claim))
		}
		require.Len(t, c.claims(), 4)
		require.NoError(t, c.uninstall(true).Keep(t.Context()))
		c.kept()
	})
}

func TestAFinalizerOfAnotherProgramKeepsTheProtection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-009", UID: "u9", Finalizers: []string{foreignFinalizer}}}
		c := newCluster(t, interceptor.Funcs{}, other)
		require.ErrorContains(t, c.uninstall(true).Keep(t.Context()), "1 claims are left, so the definitions stay protected")
		c.allowed("")
	})
}

func TestKeepIsRefusedWhileAMusterRuns(t *testing.T) {
	one, none := int32(1), int32(0)
	deployment := func(component string, replicas *int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "muster-system", Name: "muster-" + component,
			Labels: map[string]string{"app.kubernetes.io/name": "muster", "app.kubernetes.io/component": component}},
			Spec: appsv1.DeploymentSpec{Replicas: replicas}}
	}
	pod := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "muster-system", Name: "muster-x",
			Labels: map[string]string{"app.kubernetes.io/name": "muster"}}, Status: corev1.PodStatus{Phase: phase}}
	}
	for name, c := range map[string]struct {
		runs client.Object
		says string // "" is not refused
	}{
		"a Deployment":                 {deployment("scheduler", &one), "kubectl --namespace muster-system scale deployment/muster-scheduler --replicas=0"},
		"a Deployment of one, unsaid":  {deployment("guard", nil), "scale deployment/muster-guard --replicas=0"},
		"a Deployment of none":         {deployment("guard", &none), ""},
		"a shadow":                     {deployment("shadow", &one), ""},
		"a pod that ends":              {pod(corev1.PodRunning), "kubectl --namespace muster-system wait --for=delete pod/muster-x"},
		"a pod that has ended":         {pod(corev1.PodSucceeded), ""},
		"a Deployment of another name": {&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := newCluster(t, interceptor.Funcs{}, c.runs)
				err := cl.uninstall(true).Keep(t.Context())
				if c.says == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "nothing was changed")
				require.ErrorContains(t, err, c.says)
				require.Len(t, cl.claims(), 4)
			})
		})
	}
}

// renews has a holder renew its lease every so often until the test ends.
func (c *cluster) renews(every time.Duration) {
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
			var lease coordinationv1.Lease
			if c.Get(ctx, schedulerLease, &lease) == nil {
				lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
				_ = c.Update(ctx, &lease)
			}
		}
	}()
	c.t.Cleanup(func() { cancel(); <-done })
}

// A lease that was taken long ago, by a clock that nobody compares, is watched for as long as it counts.
func TestALeaseThatIsRenewedIsAMusterThatRuns(t *testing.T) {
	for every, runs := range map[time.Duration]bool{2 * time.Second: true, 14 * time.Second: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, interceptor.Funcs{})
			c.renews(every)
			began := time.Now()
			err := c.uninstall(true).Keep(t.Context())
			if runs {
				require.ErrorContains(t, err, "lease kube-system/muster-scheduler is renewed by host_uid")
				require.Len(t, c.claims(), 4)
				return
			}
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(began), 15*time.Second)
		})
	}
}

func TestDrainNeedsAMusterThatLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{})
		require.ErrorContains(t, c.uninstall(true).Drain(t.Context()), "no Muster leads")
		require.Len(t, c.claims(), 4)
		var pool v1alpha1.NodePool
		c.read(&pool, "p")
		require.Nil(t, pool.DeletionTimestamp)
		c.allowed("")
	})
}

// A Muster that releases one claim every ten seconds: pools go first, claims of a pool that is there are left to it, those
// without one are deleted; the rest is allowed when the last is gone.
func TestDrainWaitsForEveryClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deleting := metav1.Condition{Type: v1alpha1.ConditionDeleting, Message: "0 of 4 nodes released; waiting for p-000", Status: metav1.ConditionTrue}
		alone := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "gone-000", UID: "g", Finalizers: []string{v1alpha1.ClaimFinalizer}}}
		alone.Spec.Pool = "gone"
		var deleted []string
		c := newCluster(t, interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				deleted = append(deleted, fmt.Sprintf("%T %s", o, o.GetName()))
				return c.Delete(ctx, o, opts...)
			},
		}, alone)
		var pool v1alpha1.NodePool
		c.read(&pool, "p")
		meta.SetStatusCondition(&pool.Status.Conditions, deleting)
		require.NoError(t, c.Update(t.Context(), &pool))
		c.renews(2 * time.Second)
		go func() {
			for range 5 {
				time.Sleep(10 * time.Second)
				claims := c.claims()
				claims[0].Finalizers = nil
				_ = c.Update(t.Context(), &claims[0])
				_ = client.IgnoreNotFound(c.WithWatch.Delete(t.Context(), &claims[0]))
			}
		}()
		began := time.Now()
		require.NoError(t, c.uninstall(true).Drain(t.Context()))
		require.GreaterOrEqual(t, time.Since(began), 50*time.Second)
		require.Empty(t, c.claims())
		c.allowed("true")
		require.Equal(t, []string{"*v1alpha1.NodePool p", "*v1alpha1.NodeClaim gone-000"}, deleted[:2])
		require.Contains(t, c.out.String(), "left: 5 claims, 1 pools\n")
		require.Contains(t, c.out.String(), "  pool p: 0 of 4 nodes released; waiting for p-000\n")
		require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Name: "p"}, &pool)), "its finalizer is off")
	})
}

func TestDrainThatIsInterruptedSaysHowToGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{})
		c.renews(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.uninstall(true).Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "4 claims are left, which Muster goes on to release; run the command again")
		require.LessOrEqual(t, strings.Count(c.out.String(), "left: "), 4, "told again only now and then")
		c.allowed("")
	})
}

// A claim that is made between the last look and the mark keeps the protection.
func TestNothingIsAllowedWhileAClaimIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := c.Patch(ctx, o, p, opts...); err != nil {
					return err
				}
				if _, ok := o.(*v1alpha1.Host); ok {
					return c.Create(ctx, &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-007"}})
				}
				return nil
			},
		})
		require.ErrorContains(t, c.uninstall(true).Keep(t.Context()), "1 claims are left")
		c.allowed("")
	})
}

// A run that came after the definitions were deleted finds no kinds and goes on with what is left.
func TestKindsThatAreGoneAreNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if strings.HasPrefix(fmt.Sprintf("%T", l), "*v1alpha1.") {
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "any"}}
				}
				return c.List(ctx, l, opts...)
			},
		})
		require.NoError(t, c.uninstall(true).Keep(t.Context()))
		c.allowed("true")
	})
}

// Every other error is one: what cannot be listed may be there.
func TestAListThatFailsAllowsNothing(t *testing.T) {
	for _, kind := range []string{"NodeClaimList", "NodeList", "NodePoolList", "HostList", "ProviderList", "DeploymentList", "PodList", "PartialObjectMetadataList"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
					if strings.HasSuffix(fmt.Sprintf("%T", l), "."+kind) {
						return apierrors.NewServiceUnavailable("away")
					}
					return c.List(ctx, l, opts...)
				},
			})
			require.ErrorContains(t, c.uninstall(true).Keep(t.Context()), "away", kind)
			c.allowed("")
		})
	}
}
