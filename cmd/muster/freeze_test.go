package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/provider/gate"
)

// signedIn is a client whose API server says who calls. Muster, where it runs, has every pool say what the ConfigMap does.
type signedIn struct {
	client.Client
	asks   int
	muster bool
	race   int // so many writes are overtaken by another one
}

func newSignedIn(t *testing.T, objects ...client.Object) *signedIn {
	t.Helper()
	s := &signedIn{muster: true}
	scheme, err := kube.Scheme()
	require.NoError(t, err)
	s.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.NodePool{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if review, ok := o.(*authenticationv1.SelfSubjectReview); ok {
					s.asks++
					review.Status.UserInfo.Username = "alice@example.org"
					return nil
				}
				return c.Create(ctx, o, opts...)
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				if s.race > 0 {
					s.race--
					return apierrors.NewConflict(corev1.Resource("configmaps"), o.GetName(), errors.New("the object has been modified"))
				}
				return c.Update(ctx, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if err := c.List(ctx, list, opts...); err != nil {
					return err
				}
				if pools, ok := list.(*v1alpha1.NodePoolList); ok && s.muster {
					s.say(ctx, t, c, pools)
				}
				return nil
			},
		}).Build()
	return s
}

// say is what Muster writes on the pools.
func (s *signedIn) say(ctx context.Context, t *testing.T, c client.Reader, pools *v1alpha1.NodePoolList) {
	f, err := kube.ReadFreeze(ctx, c, "muster-system")
	require.NoError(t, err)
	for i := range pools.Items {
		p := &pools.Items[i]
		releases, _ := f.Releases(p.Name)
		provisioning, _ := f.Provisioning(p.Name)
		_, why := f.Releases(p.Name)
		_, whyNot := f.Provisioning(p.Name)
		condition := metav1.Condition{Type: v1alpha1.ConditionFrozen, Status: metav1.ConditionTrue, Message: cmp.Or(why, whyNot)}
		switch {
		case releases && provisioning:
			condition.Reason = v1alpha1.ReasonAllFrozen
		case releases:
			condition.Reason = v1alpha1.ReasonReleasesFrozen
		case provisioning:
			condition.Reason = v1alpha1.ReasonProvisioningFrozen
		default:
			condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotFrozen
		}
		p.Status.Conditions = []metav1.Condition{condition}
	}
}

func (s *signedIn) data(t *testing.T) map[string]string {
	t.Helper()
	var m corev1.ConfigMap
	require.NoError(t, s.Get(t.Context(), client.ObjectKey{Namespace: "muster-system", Name: "muster-freeze"}, &m))
	return kube.FreezeData(&m)
}

func freezeMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "muster-system", Name: "muster-freeze", Labels: map[string]string{"kept": "true"}}, Data: data}
}

func claimIn(name, pool string, state v1alpha1.ClaimState, change ...func(*v1alpha1.NodeClaim)) *v1alpha1.NodeClaim {
	c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}}
	c.Spec.Pool, c.Spec.Provider, c.Status.State = pool, "px", state
	for _, f := range change {
		f(c)
	}
	return c
}

func (s *signedIn) stopper(out io.Writer) *stopper {
	return &stopper{client: s, namespace: "muster-system", out: out, now: func() time.Time { return time.Date(2026, 3, 1, 8, 0, 0, 5, time.UTC) }}
}

func TestFreezeWritesTheConfigMapAndSaysWhatIsOnItsWay(t *testing.T) {
	s := newSignedIn(t, freezeMap(nil), poolOf("general", "px"), poolOf("gpu", "px"),
		claimIn("general-003", "general", v1alpha1.ClaimReleasing, func(c *v1alpha1.NodeClaim) {
			c.Status.MachineID, c.Status.Message = "103", "the provider deletes the machine"
		}),
		claimIn("general-004", "general", v1alpha1.ClaimDraining, func(c *v1alpha1.NodeClaim) {
			c.Status.MachineID, c.Status.NodeName, c.Status.Message = "104", "general-004-x7", "2 pods are left"
		}),
		claimIn("general-005", "general", v1alpha1.ClaimReady), claimIn("general-006", "general", v1alpha1.ClaimLaunching),
		claimIn("gpu-000", "gpu", v1alpha1.ClaimDraining))
	var out bytes.Buffer
	require.NoError(t, s.stopper(&out).freeze(t.Context(), freezeFlags{pools: []string{"general"}, reason: "switches of rack 3", wait: time.Minute}))
	require.Equal(t, map[string]string{
		"releases": "general", "by": "alice@example.org", "reason": "switches of rack 3", "since": "2026-03-01T08:00:00Z",
	}, s.data(t))
	require.Equal(t, `Frozen: releases of general.
By alice@example.org since 2026-03-01T08:00:00Z: switches of rack 3
Given back to their providers; what was asked for already goes on:
  general-003  pool general, machine 103: the provider deletes the machine
On their way out; no pod is evicted and no machine is deleted until they thaw:
  general-004  pool general, machine 104, node general-004-x7: 2 pods are left
Muster says so on pools general, gpu.
`, out.String())

	out.Reset()
	require.NoError(t, s.stopper(&out).freeze(t.Context(), freezeFlags{all: true, reason: "all hands off", user: "bob"}))
	require.Equal(t, 1, s.asks, "--user names another one")
	require.Equal(t, map[string]string{
		"releases": "*", "provisioning": "*", "by": "bob", "reason": "all hands off (before, by alice@example.org: switches of rack 3)", "since": "2026-03-01T08:00:00Z",
	}, s.data(t))
	require.Contains(t, out.String(), "Frozen: releases of every pool; provisioning of every pool.\n")
	require.Contains(t, out.String(), "Ordered before; they come up:\n  general-006  pool general\n")
	require.NotContains(t, out.String(), "Muster says so", "--wait 0")

	out.Reset()
	require.NoError(t, s.stopper(&out).thaw(t.Context(), freezeFlags{pools: []string{"gpu"}, provisioning: true, wait: time.Minute}))
	require.Equal(t, "general", s.data(t)["provisioning"], "the others of those that exist")
	require.NoError(t, s.stopper(&out).thaw(t.Context(), freezeFlags{wait: time.Minute}))
	require.Empty(t, s.data(t))
	require.Contains(t, out.String(), "Nothing is frozen.\n")
	var m corev1.ConfigMap
	require.NoError(t, s.Get(t.Context(), client.ObjectKey{Namespace: "muster-system", Name: "muster-freeze"}, &m))
	require.Equal(t, map[string]string{"kept": "true"}, m.Labels)
}

func TestFreezeMakesTheConfigMapWhereItIsMissing(t *testing.T) {
	s := newSignedIn(t)
	var out bytes.Buffer
	require.NoError(t, s.stopper(&out).freeze(t.Context(), freezeFlags{provisioning: true, reason: "inventory", wait: time.Minute}))
	require.Equal(t, "*", s.data(t)["provisioning"])
	require.Contains(t, out.String(), "There is no NodePool that could say so.\n")
}

func TestAFreezeThatIsOvertakenIsWrittenOverWhatIsThere(t *testing.T) {
	s := newSignedIn(t, freezeMap(map[string]string{"provisioning": "gpu"}))
	s.race = 2
	require.NoError(t, s.stopper(io.Discard).freeze(t.Context(), freezeFlags{reason: "r"}))
	require.Equal(t, "gpu", s.data(t)["provisioning"])
	require.Equal(t, "*", s.data(t)["releases"])
	s.race = 100
	require.ErrorContains(t, s.stopper(io.Discard).thaw(t.Context(), freezeFlags{}), "it was changed 5 times in between")
}

func TestAFreezeThatMusterDoesNotConfirmIsAnError(t *testing.T) {
	s := newSignedIn(t, poolOf("general", "px"))
	s.muster = false
	err := s.stopper(io.Discard).freeze(t.Context(), freezeFlags{reason: "r", wait: time.Millisecond})
	require.ErrorContains(t, err, "it is written to ConfigMap muster-system/muster-freeze, and within 1ms Muster did not say so on pool general: it may not run, or its --namespace may be another one")
	require.Equal(t, "*", s.data(t)["releases"])
}

// The pool still says what an earlier freeze was: that is no confirmation of this one.
func TestAnEarlierFreezeConfirmsNothing(t *testing.T) {
	earlier := gate.ParseFreeze(map[string]string{"releases": "*", "by": "alice", "since": "2026-03-01T08:00:00Z"})
	later := gate.ParseFreeze(map[string]string{"releases": "*", "by": "alice", "since": "2026-03-01T08:00:01Z"})
	p := poolOf("general", "px")
	_, why := earlier.Releases("general")
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFrozen, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReleasesFrozen,
		Message: why + "; 1 machine is already being deleted: general-000 (machine 1)"}}
	require.Empty(t, unaware(earlier, []v1alpha1.NodePool{*p}))
	require.Equal(t, []string{"general"}, unaware(later, []v1alpha1.NodePool{*p}))
	require.Equal(t, []string{"general"}, unaware(gate.Freeze{}, []v1alpha1.NodePool{*p}))
	require.Equal(t, []string{"new"}, unaware(gate.Freeze{}, []v1alpha1.NodePool{*poolOf("new", "px")}), "Muster has not said a word about it")
}

func TestFreezeRefusesWhatWouldNotDoWhatIsMeant(t *testing.T) {
	s := newSignedIn(t, freezeMap(nil), poolOf("general", "px"), poolOf("gpu", "px"))
	err := s.stopper(io.Discard).freeze(t.Context(), freezeFlags{pools: []string{"gpu", "genral"}, reason: "r"})
	require.EqualError(t, err, "--pool genral: there is no such NodePool; there are: general, gpu")
	require.Empty(t, s.data(t))

	broken := newSignedIn(t, freezeMap(map[string]string{"releases": "true"}), poolOf("general", "px"))
	for _, try := range []func() error{
		func() error { return broken.stopper(io.Discard).freeze(t.Context(), freezeFlags{reason: "r"}) },
		func() error { return broken.stopper(io.Discard).thaw(t.Context(), freezeFlags{releases: true}) },
		func() error {
			return broken.stopper(io.Discard).thaw(t.Context(), freezeFlags{pools: []string{"general"}})
		},
	} {
		require.ErrorContains(t, try(), `data.releases "true": use *, or names of pools`)
	}
	require.Equal(t, map[string]string{"releases": "true"}, broken.data(t))
	require.NoError(t, broken.stopper(io.Discard).thaw(t.Context(), freezeFlags{}))
	require.Empty(t, broken.data(t))
}

func TestTheFlagsOfFreezeAreChecked(t *testing.T) {
	for want, args := range map[string][]string{
		"--reason is missing":                                {"freeze"},
		`--namespace "Not/One": use the name of a namespace`: {"freeze", "--reason", "r", "--namespace", "Not/One"},
		"--wait -1s: must not be negative":                   {"thaw", "--wait", "-1s"},
		"--pool is empty":                                    {"thaw", "--pool", "a,,b"},
		"unknown command":                                    {"thaw", "general"},
		`required flag(s) "attempt", "machine" not set`:      {"confirm-gone", "general-003"},
		"accepts 1 arg(s), received 0":                       {"confirm-gone", "--machine", "1", "--attempt", "1"},
	} {
		var problems bytes.Buffer
		require.Equal(t, 1, run(t.Context(), args, io.Discard, &problems))
		require.Contains(t, problems.String(), want)
	}
}

func TestTheNamespaceIsThatOfThePod(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	require.Equal(t, "muster-system", namespaceOf(file), "there is none outside a cluster")
	require.NoError(t, os.WriteFile(file, []byte("autoscaling\n"), 0o600))
	require.Equal(t, "autoscaling", namespaceOf(file))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, "muster-system", namespaceOf(file))
}

func TestKubectlRunsItByItsName(t *testing.T) {
	require.Equal(t, "kubectl muster", displayName("/usr/local/bin/kubectl-muster"))
	require.Equal(t, "muster", displayName("/usr/local/bin/muster"))
}

func nodeThat(ready corev1.ConditionStatus, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "rack3-07"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: "Kubelet stopped posting node status.",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))}}
	for _, f := range change {
		f(n)
	}
	return n
}

func burnt(c *v1alpha1.NodeClaim) {
	c.Status.MachineID, c.Status.Attempts, c.Status.NodeName, c.Status.ProviderID = "rack3-07", 2, "rack3-07", "muster://metal/rack3-07"
	c.Status.Message, c.Status.LastError, c.Status.Errors, c.Status.Rack = "asking again", "dial tcp: i/o timeout", 12, "rack3"
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReleaseBlocked, Status: metav1.ConditionTrue, Reason: "PowerUnknown", Message: "no reading of the power"}}
}

func TestAWordIsWrittenOnTheClaim(t *testing.T) {
	s := newSignedIn(t, claimIn("metal-000", "metal", v1alpha1.ClaimReleasing, burnt), nodeThat(corev1.ConditionUnknown))
	word := gate.Word{Machine: "rack3-07", Attempt: 2}
	var out bytes.Buffer
	require.ErrorIs(t, confirmer{s, &out}.confirm(t.Context(), "metal-000", word, false), errNotConfirmed)
	require.Equal(t, `NodeClaim metal-000 of pool metal, provider px
  state:   Releasing: asking again
  machine: rack3-07, attempt 2
  where:   rack3
  error:   dial tcp: i/o timeout (12 in a row)
  blocked: PowerUnknown: no reading of the power
  node:    rack3-07, Ready Unknown since 2026-03-01 08:00:00 UTC: Kubelet stopped posting node status.
`, out.String())
	var claim v1alpha1.NodeClaim
	require.NoError(t, s.Get(t.Context(), client.ObjectKey{Name: "metal-000"}, &claim))
	require.Empty(t, claim.Annotations)

	out.Reset()
	require.NoError(t, confirmer{s, &out}.confirm(t.Context(), "metal-000", word, true))
	require.NoError(t, s.Get(t.Context(), client.ObjectKey{Name: "metal-000"}, &claim))
	require.Equal(t, "rack3-07/2 alice@example.org", claim.Annotations[v1alpha1.ConfirmGoneAnnotation])
	require.Contains(t, out.String(), `Written: muster.sh/confirm-gone: "rack3-07/2 alice@example.org". Muster looks once more before it acts on it.`)
}

func TestAWordOnAClaimThatIsNotReleasedSaysWhatElseItTakes(t *testing.T) {
	s := newSignedIn(t, claimIn("metal-000", "metal", v1alpha1.ClaimReady, burnt), nodeThat(corev1.ConditionUnknown))
	var out bytes.Buffer
	require.NoError(t, confirmer{s, &out}.confirm(t.Context(), "metal-000", gate.Word{Machine: "rack3-07", Attempt: 2}, true))
	require.Contains(t, out.String(), "It counts once the machine is given back, which is asked for by: kubectl delete nodeclaim metal-000\n")
}

func TestAWordThatCannotBeTrueIsRefused(t *testing.T) {
	elsewhere := func(set func(*corev1.Node)) *corev1.Node {
		return nodeThat(corev1.ConditionTrue, func(n *corev1.Node) { n.Name = "renamed"; set(n) })
	}
	for name, c := range map[string]struct {
		word gate.Word
		node *corev1.Node
		want string
	}{
		"another machine":                 {gate.Word{Machine: "rack3-08", Attempt: 2}, nil, "--machine rack3-08: the machine of NodeClaim metal-000 is rack3-07"},
		"an earlier attempt":              {gate.Word{Machine: "rack3-07", Attempt: 1}, nil, "--attempt 1: NodeClaim metal-000 is at attempt 2"},
		"no attempt":                      {gate.Word{Machine: "rack3-07"}, nil, "--attempt 0: must be at least 1"},
		"its Node is Ready":               {gate.Word{Machine: "rack3-07", Attempt: 2}, nodeThat(corev1.ConditionTrue), "node rack3-07 is Ready: a machine whose kubelet answers is not gone"},
		"its Node came back renamed":      {gate.Word{Machine: "rack3-07", Attempt: 2}, elsewhere(func(n *corev1.Node) { n.Spec.ProviderID = "muster://metal/rack3-07" }), "node renamed is Ready"},
		"a Node with the claim's label":   {gate.Word{Machine: "rack3-07", Attempt: 2}, elsewhere(func(n *corev1.Node) { n.Labels = map[string]string{v1alpha1.ClaimLabel: "metal-000"} }), "node renamed is Ready"},
		"a user that cannot be written":   {gate.Word{Machine: "rack3-07", Attempt: 2, User: "al\nice"}, nil, "--user \"al\\nice\": must not begin or end with a space"},
		"a Ready Node of another machine": {gate.Word{Machine: "rack3-07", Attempt: 2}, elsewhere(func(*corev1.Node) {}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{claimIn("metal-000", "metal", v1alpha1.ClaimReleasing, burnt)}
			if c.node != nil {
				objects = append(objects, c.node)
			}
			s := newSignedIn(t, objects...)
			err := confirmer{s, io.Discard}.confirm(t.Context(), "metal-000", c.word, true)
			var claim v1alpha1.NodeClaim
			require.NoError(t, s.Get(t.Context(), client.ObjectKey{Name: "metal-000"}, &claim))
			if c.want == "" {
				require.NoError(t, err)
				require.NotEmpty(t, claim.Annotations)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Empty(t, claim.Annotations)
		})
	}
	s := newSignedIn(t, claimIn("metal-000", "metal", v1alpha1.ClaimPending))
	require.EqualError(t, confirmer{s, io.Discard}.confirm(t.Context(), "metal-000", gate.Word{Machine: "a", Attempt: 1}, true), "NodeClaim metal-000 has no machine")
	require.ErrorContains(t, confirmer{s, io.Discard}.confirm(t.Context(), "other", gate.Word{Machine: "a", Attempt: 1}, true), "NodeClaim other: ")
}
