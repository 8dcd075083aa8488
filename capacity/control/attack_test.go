package control_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// attacked is a cluster to which is done what people do to clusters: one claim per machine, the loop that takes them through their
// life, and a provider that counts what it is asked to destroy. Names that Muster remembers are those of the watch; the gate reads the
// cluster itself.
type attacked struct {
	*notebook
	t        *testing.T
	live     *capacity.Live
	loop     *control.Claims
	now      time.Time
	machines map[types.UID]*provider.Machine
	nodes    []*corev1.Node
	pods     []*corev1.Pod
	budget   bool // the pods' disruption budget allows no eviction
	away     error
	silent   error // the provider does not answer
	told     []string
	seen     sets.Set[types.UID]
	deleted  []string
	stopped  []string
	evicted  []string
	removed  []string // Nodes
}

const (
	registration = 5 * time.Minute
	uuidA        = "5d5c3f6e-0000-4000-8000-00000000000a"
	uuidB        = "5d5c3f6e-0000-4000-8000-00000000000b"
)

func newAttacked(t *testing.T) *attacked {
	a := &attacked{notebook: newNotebook(), t: t, now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), machines: map[types.UID]*provider.Machine{},
		seen: sets.New[types.UID](),
		live: capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})}
	log, now := slog.New(slog.DiscardHandler), func() time.Time { return a.now }
	a.loop = &control.Claims{Live: a.live, Kube: a, Nodes: a, Backends: a, Log: log, Now: now, Cluster: "own",
		Gate: &control.Gate{Live: a.live, Kube: a, Backends: a, Log: log, Cluster: "own", Now: now}}
	a.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "px"}})
	return a
}

// claim puts a machine with its claim and its Node into the cluster, as they are when the claim is in a state.
func (a *attacked) claim(name, uuid string, state v1alpha1.ClaimState) *v1alpha1.NodeClaim {
	m := &provider.Machine{ID: provider.ID("vm-" + name), Claim: name, ClaimUID: types.UID("uid-" + name), Attempt: 1, Cluster: "own",
		State: provider.StateRunning, On: true, SystemUUID: uuid, Identity: v1alpha1.MachineIdentity{ID: "vm-" + name, SystemUUID: uuid, Serial: "serial-" + name}}
	a.machines[m.ClaimUID] = m
	at := metav1.NewMicroTime(a.now)
	c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: m.ClaimUID, Finalizers: []string{v1alpha1.ClaimFinalizer}}}
	c.Spec = v1alpha1.NodeClaimSpec{Pool: "p", Provider: "px", Shape: "s", MaxAttempts: 1, Resources: resources("4", "8Gi"),
		RegistrationTimeout: metav1.Duration{Duration: registration}}
	id := m.Identity
	c.Status = v1alpha1.NodeClaimStatus{State: state, MachineID: string(m.ID), SystemUUID: uuid, Identity: &id, Attempts: 1, LaunchedAt: &at}
	if state != v1alpha1.ClaimJoining {
		c.Status.NodeName, c.Status.NodeUID, c.Status.RegisteredAt = name, types.UID("node-"+name), &at
	}
	if state == v1alpha1.ClaimReady || state == v1alpha1.ClaimDraining {
		c.Status.ReadyAt = &at
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue, Reason: "Initialized"})
	}
	c = a.store(c)
	a.live.SetClaim(c)
	return c
}

func (a *attacked) node(name, uuid string, uid types.UID, claim string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, CreationTimestamp: metav1.NewTime(a.now)},
		Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{SystemUUID: uuid}, Allocatable: resources("4", "8Gi"),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	if claim != "" {
		n.Annotations = map[string]string{v1alpha1.RegisteredAnnotation: claim, v1alpha1.ProviderAnnotation: "px"}
	}
	a.nodes = append(a.nodes, n)
	return n
}

// pod runs on a node. It has a controller, and tolerates all that Muster puts on nodes.
func (a *attacked) pod(name, node string) *corev1.Pod {
	p := pod(name, "1")
	p.Spec.NodeName = node
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
	a.pods = append(a.pods, p)
	return p
}

func (a *attacked) release(name string, drain time.Duration) {
	c := a.claims[name].DeepCopy()
	c.Spec.Release = &v1alpha1.Release{Reason: "Idle", Since: metav1.NewMicroTime(a.now)}
	if drain > 0 {
		c.Spec.Release.Drain = &v1alpha1.Drain{Timeout: metav1.Duration{Duration: drain}}
	}
	a.live.SetClaim(a.store(c))
}

// runs lets time pass; the watch is up to date each second.
func (a *attacked) runs(d time.Duration) {
	a.t.Helper()
	for end := a.now.Add(d); a.now.Before(end); a.now = a.now.Add(time.Second) {
		a.watch()
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for n := range a.claims {
				if !yield(n) {
					return
				}
			}
		}) {
			if _, err := a.loop.Reconcile(a.t.Context(), name); err != nil && !control.Conflict(err) {
				require.NoError(a.t, err)
			}
		}
	}
}

// watch has the view see what the cluster has.
func (a *attacked) watch() {
	known := map[string]bool{}
	for _, n := range a.nodes {
		a.live.SetNode(n, a.now)
		known[n.Name] = true
	}
	for _, n := range a.live.View().Nodes {
		if !known[n.Name] {
			a.live.ForgetNode(n.Name)
		}
	}
	for uid := range a.seen {
		if !slices.ContainsFunc(a.pods, func(p *corev1.Pod) bool { return p.UID == uid }) {
			a.live.ForgetPod(uid)
		}
	}
	for _, p := range a.pods {
		a.live.SetPod(p, a.now)
		a.seen.Insert(p.UID)
	}
}

func (a *attacked) drop(node string) {
	a.nodes = slices.DeleteFunc(a.nodes, func(n *corev1.Node) bool { return n.Name == node })
}

// blocked is the condition that says why a claim's machine is kept.
func (a *attacked) blocked(name string) metav1.Condition {
	if c := meta.FindStatusCondition(a.claims[name].Status.Conditions, v1alpha1.ConditionReleaseBlocked); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// stands says that no machine was touched and no pod was stopped.
func (a *attacked) stands() {
	a.t.Helper()
	require.Empty(a.t, a.deleted, "machines")
	require.Empty(a.t, a.stopped, "machines")
	require.Empty(a.t, a.removed, "Nodes")
}

// The provider.

func (a *attacked) Backend(string) (provider.Provider, error) { return rack{a}, a.silent }

type rack struct{ *attacked }

var _ provider.Provider = rack{}

func (r rack) Create(context.Context, provider.Request) (provider.Machine, error) {
	return provider.Machine{}, provider.ErrNoCapacity
}

func (r rack) Get(_ context.Context, m provider.Machine) (provider.Machine, error) {
	if found := r.machines[m.ClaimUID]; found != nil {
		return *found, nil
	}
	return provider.Machine{}, provider.ErrNotFound
}

func (r rack) List(context.Context) ([]provider.Machine, error) { return nil, nil }

func (r rack) Delete(_ context.Context, m provider.Machine, p gate.Proof) error {
	found := r.machines[m.ClaimUID]
	if found == nil {
		return provider.ErrNotFound
	}
	if err := provider.Spend(p, gate.Delete, m, found.Identity, r.now); err != nil {
		return err
	}
	r.deleted = append(r.deleted, m.Claim)
	delete(r.machines, m.ClaimUID)
	return nil
}

func (r rack) Stop(_ context.Context, m provider.Machine, p gate.Proof) (provider.Machine, error) {
	if err := provider.Spend(p, gate.Stop, m, r.machines[m.ClaimUID].Identity, r.now); err != nil {
		return provider.Machine{}, err
	}
	r.stopped = append(r.stopped, m.Claim)
	return *r.machines[m.ClaimUID], nil
}

func (r rack) Check(context.Context) []provider.Finding { return nil }

// The API server.

func (a *attacked) Candidates(name, _, uuid string) (found []*corev1.Node) {
	for _, n := range a.nodes {
		if n.Name == name || identity.UUID(uuid) != "" && identity.UUID(n.Status.NodeInfo.SystemUUID) == identity.UUID(uuid) {
			found = append(found, n)
		}
	}
	return found
}

func (a *attacked) Nodes(context.Context) ([]*corev1.Node, error) { return a.nodes, a.away }

func (a *attacked) PodsOn(_ context.Context, node string) (on []corev1.Pod, err error) {
	for _, p := range a.pods {
		if p.Spec.NodeName == node {
			on = append(on, *p)
		}
	}
	return on, a.away
}

func (a *attacked) UpdateNode(_ context.Context, from, to *corev1.Node) error {
	for i, n := range a.nodes {
		if n == from {
			a.nodes[i] = to
			return nil
		}
	}
	return apierrors.NewConflict(corev1.Resource("nodes"), from.Name, errors.New("changed"))
}

func (a *attacked) DeleteNode(_ context.Context, name string, uid types.UID, p gate.Proof) error {
	if err := p.SpendNode(name, a.now); err != nil {
		return err
	}
	a.removed = append(a.removed, name)
	a.nodes = slices.DeleteFunc(a.nodes, func(n *corev1.Node) bool { return n.UID == uid })
	return nil
}

func (a *attacked) Evict(_ context.Context, ref v1alpha1.PodReference, p gate.Proof) error {
	if err := p.CoversPod(ref.UID, a.now, gate.Evict); err != nil {
		return err
	}
	if a.budget {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	a.evicted = append(a.evicted, ref.Name)
	a.pods = slices.DeleteFunc(a.pods, func(p *corev1.Pod) bool { return p.UID == ref.UID })
	return nil
}

func (a *attacked) DeleteClaim(context.Context, string, types.UID) error { return nil }

func (a *attacked) UpdateClaimStatus(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	return a.store(c.DeepCopy()), nil
}

func (a *attacked) Event(about control.Subject, _ bool, reason, message string) {
	a.told = append(a.told, about.Kind+" "+about.Name+" "+reason+": "+message)
}

// heard says that somebody was told of something.
func (a *attacked) heard(text string) {
	a.t.Helper()
	require.True(a.t, slices.ContainsFunc(a.told, func(s string) bool { return strings.Contains(s, text) }), "%q is not among %q", text, a.told)
}

// Pods that a dead kubelet does not end keep its machine until their grace period ended a minute ago, by the clock of this process: what
// the API server noted may be another computer's idea of the time.
func TestM19PodsOfADeadKubeletKeepTheMachineForAMinute(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.runs(5 * time.Second)
	n := a.nodes[0].DeepCopy()
	n.Status.Conditions[0].Status = corev1.ConditionUnknown
	a.nodes[0] = n
	p := a.pod("web", "p-000")
	p.DeletionTimestamp = &metav1.Time{Time: a.now.Add(-time.Hour)} // by a clock that is an hour behind
	p.DeletionGracePeriodSeconds = new(int64(30))
	c := a.claims["p-000"].DeepCopy()
	c.Spec.Release = &v1alpha1.Release{Reason: "Unhealthy", Since: metav1.NewMicroTime(a.now), Drain: &v1alpha1.Drain{Timeout: metav1.Duration{Duration: time.Hour}}}
	a.live.SetClaim(a.store(c))
	a.runs(80 * time.Second)
	a.stands()
	a.runs(2 * time.Minute)
	require.Equal(t, []string{"p-000"}, a.deleted)
}

// An idle node goes: all that is refused below is refused for its reason alone.
func TestAMachineThatIsProvenGoes(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.runs(5 * time.Second)
	a.release("p-000", 0)
	a.runs(30 * time.Second)
	require.Equal(t, []string{"p-000"}, a.deleted)
	require.Equal(t, []string{"p-000"}, a.removed)
}

// M01: a person deletes the Node of a machine that drains. Its pods are bound to the name, and their budget lets none go.
func TestM01ANodeThatIsDeletedByHandTakesNoPodWithIt(t *testing.T) {
	for name, drain := range map[string]time.Duration{"an idle release": 0, "a drain": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			a := newAttacked(t)
			a.claim("p-000", uuidA, v1alpha1.ClaimReady)
			a.node("p-000", uuidA, "node-p-000", "uid-p-000")
			a.runs(5 * time.Second)
			a.release("p-000", drain)
			a.runs(time.Second)
			a.pod("db-0", "p-000")
			a.budget = true
			a.runs(10 * time.Second)
			require.Equal(t, v1alpha1.ClaimDraining, a.claims["p-000"].Status.State)
			a.drop("p-000")
			a.runs(20 * time.Minute)
			a.stands()
			require.Empty(t, a.evicted)
			require.Len(t, a.pods, 1)
		})
	}
}

// After the pod garbage collector of Kubernetes has collected the pods of a Node that does not come back, the machine goes.
func TestM01AMachineWithoutNodeGoesWhenItsPodsAreCollected(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.pod("web", "p-000")
	a.runs(5 * time.Second)
	a.drop("p-000")
	a.runs(registration + time.Minute)
	a.stands()
	require.Equal(t, "PodsOnNode", a.blocked("p-000").Reason)
	a.heard("NodeClaim p-000 PodsOnNode")
	a.pods = nil
	a.runs(time.Minute)
	require.Equal(t, []string{"p-000"}, a.deleted)
}

// M02: a host was renamed: its kubelet registered anew, and the old Node stays. The pods run on the new one.
func TestM02PodsOfAnyNodeOfTheMachineKeepIt(t *testing.T) {
	for seed := range 2 { // whichever comes first
		a := newAttacked(t)
		a.claim("p-000", uuidA, v1alpha1.ClaimReady)
		old := a.node("p-000", uuidA, "node-p-000", "uid-p-000")
		old.Status.Conditions[0].Status = corev1.ConditionUnknown
		a.node("renamed", uuidA, "node-renamed", "")
		if seed == 1 {
			slices.Reverse(a.nodes)
		}
		a.pod("web", "renamed")
		a.runs(5 * time.Second)
		a.release("p-000", 0)
		a.runs(20 * time.Minute)
		a.stands()
		for _, n := range a.nodes {
			require.True(t, n.Spec.Unschedulable, "%s: every Node of the machine is closed", n.Name)
		}
		a.pods = nil
		a.runs(time.Minute)
		require.Equal(t, []string{"p-000"}, a.deleted)
		require.Len(t, a.removed, 2, "and none of its Nodes is left")
	}
}

// The pods of a renamed host are on its new Node, and one is protected since the cache last heard of it: the gate looks at the pods of
// every Node before one is evicted.
func TestM02AnEvictionIsProvenOnWhicheverNodeThePodIs(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	other := a.node("renamed", uuidA, "node-renamed", "")
	other.Status.Conditions[0].Status = corev1.ConditionUnknown
	a.pod("web", "renamed")
	a.runs(5 * time.Second)
	a.release("p-000", 10*time.Minute)
	a.runs(time.Second)
	protected := a.pods[0].DeepCopy()
	protected.Annotations = map[string]string{v1alpha1.DoNotDisruptAnnotation: "true"}
	a.pods[0] = protected
	for range 30 {
		_, err := a.loop.Reconcile(t.Context(), "p-000")
		require.NoError(t, err)
		a.now = a.now.Add(time.Second)
	}
	require.Empty(t, a.evicted)
	require.Equal(t, "ProtectedPods", a.blocked("p-000").Reason)
	a.pods = nil // it leaves by itself, which the cache has not heard of either
	for range 30 {
		_, err := a.loop.Reconcile(t.Context(), "p-000")
		require.NoError(t, err, "a pod that is not there is no reason to stop")
		a.now = a.now.Add(time.Second)
	}
	require.Empty(t, a.evicted)
	a.runs(time.Minute)
	require.Equal(t, []string{"p-000"}, a.deleted)
}

// M03: two machines report one system UUID. One has a Ready Node with pods, the other never gets one of its own.
func TestM03AUUIDThatTwoMachinesShareIsNoProof(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.pod("web", "p-000")
	a.claim("p-001", uuidA, v1alpha1.ClaimJoining)
	a.runs(4 * registration)
	a.stands()
	for _, name := range []string{"p-000", "p-001"} {
		require.Equal(t, "IdentityAmbiguous", a.blocked(name).Reason, name)
	}
	require.Contains(t, a.blocked("p-000").Message, "p-001")
	require.Contains(t, a.blocked("p-001").Message, "p-000")
	require.Len(t, a.pods, 1)
}

// A UUID that a factory left on every board tells nothing; names and provider IDs do.
func TestM03AFactoryUUIDIsNoUUID(t *testing.T) {
	const every = "03000200-0400-0500-0006-000700080009"
	a := newAttacked(t)
	a.claim("p-000", every, v1alpha1.ClaimReady)
	a.node("p-000", every, "node-p-000", "uid-p-000")
	a.claim("p-001", every, v1alpha1.ClaimReady)
	a.node("p-001", every, "node-p-001", "uid-p-001")
	a.pod("web", "p-001")
	a.runs(5 * time.Second)
	a.release("p-000", 0)
	a.runs(time.Minute)
	require.Equal(t, []string{"p-000"}, a.deleted, "its serial number proves it, and its name its Node")
}

// M05: a Ready node still has its startup taint when its time is over; a pod that tolerates it runs there.
func TestM05ANodeThatNeverLeftStartingKeepsItsPods(t *testing.T) {
	a := newAttacked(t)
	c := a.claim("p-000", uuidA, v1alpha1.ClaimStarting).DeepCopy()
	c.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoSchedule}}
	a.live.SetClaim(a.store(c))
	n := a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	n.Spec.Taints = slices.Clone(c.Spec.StartupTaints)
	a.pod("web", "p-000")
	a.runs(4 * registration)
	a.stands()
	require.Equal(t, v1alpha1.ClaimStarting, a.claims["p-000"].Status.State)
	require.Equal(t, "PodsOnNode", a.blocked("p-000").Reason)
	a.pods = nil
	a.runs(time.Minute)
	require.Equal(t, []string{"p-000"}, a.deleted)
}

// A silent node is restarted under its pods, which run again after it; not under one whose owner asked for it to be left alone.
func TestASilentNodeIsRestartedUnderItsPods(t *testing.T) {
	for name, stands := range map[string]bool{"pods that wait for it": false, "a protected pod": true} {
		t.Run(name, func(t *testing.T) {
			a := newAttacked(t)
			a.claim("p-000", uuidA, v1alpha1.ClaimReady)
			n := a.node("p-000", uuidA, "node-p-000", "uid-p-000")
			pod := a.pod("web", "p-000")
			if stands {
				pod.Annotations = map[string]string{v1alpha1.DoNotDisruptAnnotation: "true"}
			}
			a.runs(5 * time.Second)
			i := slices.IndexFunc(a.nodes, func(o *corev1.Node) bool { return o.Name == n.Name })
			silent := a.nodes[i].DeepCopy()
			silent.Status.Conditions[0].Status = corev1.ConditionUnknown
			a.nodes[i] = silent
			c := a.claims["p-000"].DeepCopy()
			c.Spec.Restart = &v1alpha1.Restart{Since: metav1.NewMicroTime(a.now)}
			a.live.SetClaim(a.store(c))
			a.runs(10 * time.Second)
			require.Equal(t, stands, len(a.stopped) == 0, "%v", a.stopped)
			if stands {
				require.Equal(t, "PodsOnNode", a.blocked("p-000").Reason)
				require.Contains(t, a.blocked("p-000").Message, "default/web on p-000 (ProtectedPod)")
			}
			require.Len(t, a.pods, 1)
		})
	}
}

// Another machine answers for the claim: nothing is done to it, nothing of what was recorded changes, and people are told.
func TestAMachineThatContradictsTheRecordIsNotTouched(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.runs(5 * time.Second)
	a.machines["uid-p-000"].Identity.SystemUUID, a.machines["uid-p-000"].SystemUUID = uuidB, uuidB
	a.release("p-000", 0)
	a.runs(10 * time.Minute)
	a.stands()
	require.Equal(t, "IdentityMismatch", a.blocked("p-000").Reason)
	require.Contains(t, a.blocked("p-000").Message, uuidB)
	require.Contains(t, a.blocked("p-000").Message, "muster confirm-gone p-000")
	a.heard("NodeClaim p-000 IdentityMismatch")
	a.heard("Provider px IdentityMismatch: p-000: ")
	require.Equal(t, uuidA, a.claims["p-000"].Status.Identity.SystemUUID)
	require.Equal(t, uuidA, a.claims["p-000"].Status.SystemUUID)
}

// A clone of the machine carries its mark: neither is touched, and both are told, until there is only one.
func TestImpostorWithTheMarkOfAMachineKeepsIt(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.runs(5 * time.Second)
	a.machines["uid-p-000"].Twins = "VM 1999"
	a.release("p-000", 0)
	a.runs(10 * time.Minute)
	a.stands()
	require.Equal(t, "IdentityAmbiguous", a.blocked("p-000").Reason)
	require.Contains(t, a.blocked("p-000").Message, "it cannot be told apart from VM 1999, which carries the same mark")
	a.machines["uid-p-000"].Twins = ""
	a.runs(time.Minute)
	require.Equal(t, []string{"p-000"}, a.deleted)
}

// What is frozen stops at the next act, also one that was begun before, and goes on when it is thawed.
func TestAFreezeStopsAReleaseInTheMiddle(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.pod("web", "p-000")
	a.budget = true
	a.runs(5 * time.Second)
	a.release("p-000", 10*time.Minute)
	a.runs(10 * time.Second)
	a.budget = false
	a.freeze = map[string]string{"releases": "p", "by": "ann", "reason": "the rack is being moved"}
	a.runs(5 * time.Minute)
	a.stands()
	require.Empty(t, a.evicted)
	require.Equal(t, "Frozen", a.blocked("p-000").Reason)
	require.Contains(t, a.blocked("p-000").Message, "the rack is being moved")
	a.freeze = map[string]string{"releases": "another"}
	a.runs(time.Minute)
	require.Equal(t, []string{"web"}, a.evicted)
	require.Equal(t, []string{"p-000"}, a.deleted)
}

// While the API server does not answer, nothing is destroyed, however well it is known.
func TestAnAPIServerThatDoesNotAnswerStopsEveryAct(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.runs(5 * time.Second)
	a.release("p-000", 0)
	a.away = errors.New("connection refused")
	for range 60 {
		a.watch()
		_, _ = a.loop.Reconcile(t.Context(), "p-000")
		a.now = a.now.Add(time.Second)
	}
	a.stands()
	a.away = nil
	a.runs(time.Minute)
	require.Equal(t, []string{"p-000"}, a.deleted)
}

// A burnt machine whose provider does not come back holds its slot until a person gives a word, which is good for that attempt.
func TestAPersonsWordEndsAClaimWhoseProviderIsGone(t *testing.T) {
	a := newAttacked(t)
	a.claim("p-000", uuidA, v1alpha1.ClaimReady)
	n := a.node("p-000", uuidA, "node-p-000", "uid-p-000")
	a.runs(5 * time.Second)
	a.silent = provider.ErrUnknown
	a.release("p-000", 0)
	a.runs(10 * time.Minute)
	a.stands()
	say := func(word string) {
		c := a.claims["p-000"].DeepCopy()
		c.Annotations = map[string]string{v1alpha1.ConfirmGoneAnnotation: word}
		a.live.SetClaim(a.store(c))
	}
	say("vm-p-000/1 ann")
	a.runs(2 * time.Minute)
	a.stands()
	require.Contains(t, a.blocked("p-000").Message, "Node p-000 is Ready", "a reading says that it is on")
	i := slices.IndexFunc(a.nodes, func(o *corev1.Node) bool { return o.Name == n.Name })
	dead := a.nodes[i].DeepCopy()
	dead.Status.Conditions[0].Status = corev1.ConditionUnknown
	a.nodes[i] = dead
	a.runs(2 * time.Minute)
	a.stands()
	require.NotContains(t, a.claims["p-000"].Annotations, v1alpha1.ConfirmGoneAnnotation)
	require.Empty(t, a.removed, "a word that was contradicted does not count when the node falls silent later")
	say("vm-other/1 ann")
	a.runs(2 * time.Minute)
	a.stands()
	say("vm-p-000/1 ann")
	a.runs(2 * time.Minute)
	require.Empty(t, a.deleted, "the provider is not asked")
	require.Equal(t, []string{"p-000"}, a.removed)
	require.True(t, meta.IsStatusConditionTrue(a.claims["p-000"].Status.Conditions, v1alpha1.ConditionReleased), "the slot is free")
	a.heard("MachineConfirmedGone: machine vm-p-000 is gone, by the word of ann")
	a.heard("Released: the machine is gone")
}
