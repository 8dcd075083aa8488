package control_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/provider"
)

// estate is a house whose API server keeps Providers and pools that carry finalizers, with a second provider that has no machine.
type estate struct {
	*house
	reaper  *control.Reaper
	version int
	writes  []string // of finalizers, by object
	refuse  error    // of the next write of finalizers
}

func newEstate(t *testing.T) *estate {
	h := &estate{house: newHouse(t)}
	h.live.ForgetProvider("px")
	h.provider("px")
	h.provider("b")
	log := slog.New(slog.DiscardHandler)
	h.loop.Kube, h.loop.Backends, h.loop.Keeper.Kube, h.loop.Keeper.Backends = h, h, h, h
	h.reaper = &control.Reaper{Live: h.live, Kube: h, Log: log, Decide: reaper.Decide}
	return h
}

// empty is a provider without machines.
type empty struct{ provider.Provider }

func (empty) List(context.Context) ([]provider.Machine, error) { return nil, nil }
func (empty) Get(context.Context, provider.Machine) (provider.Machine, error) {
	return provider.Machine{}, provider.ErrNotFound
}

func (h *estate) Backend(name string) (provider.Provider, error) {
	switch {
	case h.live.Provider(name) == nil:
		return nil, provider.ErrUnknown
	case name == "b":
		return empty{}, nil
	}
	return h.house, nil
}

func (h *estate) next() string { h.version++; return fmt.Sprint(h.version) }

func (h *estate) provider(name string) {
	h.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", ResourceVersion: h.next()}})
}

// deletes deletes a Provider as an operator would.
func (h *estate) deletes(name string) {
	p := h.live.Provider(name).DeepCopy()
	if len(p.Finalizers) == 0 {
		h.live.ForgetProvider(name)
		return
	}
	p.DeletionTimestamp, p.ResourceVersion = new(metav1.NewTime(h.now)), h.next()
	h.live.SetProvider(p)
}

var errChanged = apierrors.NewConflict(schema.GroupResource{}, "", errors.New("it changed"))

func (h *estate) fails() error {
	err := h.refuse
	h.refuse = nil
	return err
}

func (h *estate) SetProviderFinalizers(_ context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error) {
	if err := h.fails(); err != nil {
		return nil, err
	}
	if known := h.live.Provider(p.Name); known == nil || known.ResourceVersion != p.ResourceVersion {
		return nil, errChanged
	}
	h.writes = append(h.writes, fmt.Sprint("Provider ", p.Name, " ", finalizers))
	p = p.DeepCopy()
	p.Finalizers, p.ResourceVersion = finalizers, h.next()
	if p.DeletionTimestamp != nil && len(finalizers) == 0 {
		h.live.ForgetProvider(p.Name)
	}
	return p, nil
}

func (h *estate) SetPoolFinalizers(_ context.Context, p *v1alpha1.NodePool, finalizers []string) (*v1alpha1.NodePool, error) {
	if err := h.fails(); err != nil {
		return nil, err
	}
	if known := h.live.Pool(p.Name); known == nil || known.ResourceVersion != p.ResourceVersion {
		return nil, errChanged
	}
	h.writes = append(h.writes, fmt.Sprint("NodePool ", p.Name, " ", finalizers))
	p = p.DeepCopy()
	p.Finalizers, p.ResourceVersion = finalizers, h.next()
	if p.DeletionTimestamp != nil && len(finalizers) == 0 {
		h.live.ForgetPool(p.Name)
	}
	return p, nil
}

func (h *estate) UpdateProviderStatus(_ context.Context, p *v1alpha1.Provider) error {
	if known := h.live.Provider(p.Name); known == nil || known.ResourceVersion != p.ResourceVersion {
		return errChanged
	}
	p = p.DeepCopy()
	p.ResourceVersion = h.next()
	h.live.SetProvider(p)
	return nil
}

func (h *estate) UpdatePoolStatus(_ context.Context, p *v1alpha1.NodePool) error {
	if known := h.live.Pool(p.Name); known == nil || known.ResourceVersion != p.ResourceVersion {
		return errChanged
	}
	p = p.DeepCopy()
	p.ResourceVersion = h.next()
	h.live.SetPool(p)
	return nil
}

func (h *estate) UpdateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	c = c.DeepCopy()
	c.ResourceVersion = h.next()
	return c, nil
}

func (h *estate) condition(name string) *metav1.Condition {
	return meta.FindStatusCondition(h.live.Provider(name).Status.Conditions, v1alpha1.ConditionDeleting)
}

// silent has a node of a machine without a claim go silent, with a pod on it.
func (h *estate) silent(name string) {
	i := slices.IndexFunc(h.nodes, func(n *corev1.Node) bool { return n.Name == name })
	h.nodes[i].Annotations = map[string]string{v1alpha1.RegisteredAnnotation: "uid-" + name}
	h.nodes[i].Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(h.now)}
	h.pods = append(h.pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: name}})
}

// TestM08ANodeIsNotProvenGoneByTheEndOfItsProvider: the Provider of a machine without a claim was deleted, all that were left said that
// they have no such machine, and its Node was deleted under its pods.
func TestM08ANodeIsNotProvenGoneByTheEndOfItsProvider(t *testing.T) {
	h := newEstate(t)
	h.machine("lost", "own", false)
	h.silent("lost")
	h.runs(15 * time.Second)
	h.deletes("px")
	h.runs(10 * time.Minute)
	h.holds("lost")
	require.Empty(t, h.deleted)
	require.NotNil(t, h.live.Provider("px"), "it has a machine")
	require.Empty(t, h.live.Provider("b").Finalizers, "it has none")
	h.reaper.Tick(t.Context(), h.now)
	require.Contains(t, h.condition("px").Message, "no NodeClaim needs it; it is asked for machines of Muster's (1 when it was last asked)")
	h.pods = nil
	h.runs(2 * time.Minute)
	require.Nil(t, h.live.Provider("px"), "it goes with its last machine")
}

func TestAProviderThatClaimsNeedIsHeld(t *testing.T) {
	h := newEstate(t)
	h.machine("std-000", "own", true)
	h.runs(15 * time.Second)
	h.deletes("px")
	h.runs(time.Hour)
	h.reaper.Tick(t.Context(), h.now)
	why := h.condition("px")
	require.Equal(t, "InUse", why.Reason)
	require.Contains(t, why.Message, "1 NodeClaims need it: std-000. Nothing new is provisioned from it")
	require.Contains(t, h.events, "Provider px InUse")
	h.reaper.Tick(t.Context(), h.now)
	require.Equal(t, 1, times(h.events, "Provider px InUse"))

	h.live.ForgetClaim("std-000", "uid-std-000")
	h.unlisted = append(h.unlisted, "uid-std-000") // the API server still has one
	h.machines = nil
	h.runs(time.Minute)
	require.NotNil(t, h.live.Provider("px"), "another claim may be unknown here")
	require.Equal(t, []string{"Provider px [muster.sh/provider]"}, h.writes)
}

func times(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// TestAProviderIsLetGoOnProofOnly: each of these is a reason to hold it.
func TestAProviderIsLetGoOnProofOnly(t *testing.T) {
	for name, c := range map[string]struct {
		doubt func(*estate)
		gone  bool
	}{
		"it has no machine":                     {func(h *estate) { h.machines = nil }, true},
		"its machine is stopped for a claim":    {func(h *estate) { h.machines[0].State, h.machines[0].ClaimUID = provider.StateKept, "" }, true},
		"its machine is another cluster's":      {func(h *estate) { h.machines[0].Cluster = "another" }, true},
		"it lists in part":                      {func(h *estate) { h.listing, h.partial = provider.ErrUnknown, true }, false},
		"Muster does not know its own cluster":  {func(h *estate) { h.machines, h.loop.Keeper.Cluster = nil, "" }, false},
		"the API server does not answer":        {func(h *estate) { h.machines, h.api = nil, errors.New("timed out") }, false},
		"the API server has a claim more":       {func(h *estate) { h.machines = nil; h.unlisted = append(h.unlisted, "late") }, false},
		"its object changed since it was read":  {func(h *estate) { h.machines, h.refuse = nil, errChanged }, true}, // the next time
		"its machine was handed over, it keeps": {func(h *estate) { h.keepMachine("m") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newEstate(t)
			h.machine("m", "own", false)
			h.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: "m"}}}
			h.runs(15 * time.Second)
			h.deletes("px")
			c.doubt(h)
			h.runs(time.Minute)
			require.Equal(t, c.gone, h.live.Provider("px") == nil)
		})
	}
}

// Claims returns what the API server has, those that only it knows included, as claims of px.
func (h *estate) Claims(ctx context.Context) ([]*v1alpha1.NodeClaim, error) {
	claims, err := h.house.Claims(ctx)
	for _, c := range claims {
		if c.Name == "late" {
			c.Spec.Provider = "px"
		}
	}
	return claims, err
}

// keepMachine lists a machine as handed over.
func (h *estate) keepMachine(name string) {
	p := h.live.Provider("px").DeepCopy()
	p.ResourceVersion = h.next()
	p.Status.KeptMachines = append(p.Status.KeptMachines, v1alpha1.KeptMachine{
		ClaimUID: "uid-" + "m", Claim: name, Node: name, ID: "vm-" + name, Since: metav1.NewTime(h.now)})
	h.live.SetProvider(p)
}

// A machine that was handed over is the user's, whatever becomes of its Node, and its Node loses the marks of the claim that is gone.
func TestAMachineThatWasHandedOverIsNeverAnOrphan(t *testing.T) {
	h := newEstate(t)
	h.machine("m", "own", false)
	n := h.nodes[0]
	n.Annotations = map[string]string{v1alpha1.RegisteredAnnotation: "uid-m", v1alpha1.DoNotReleaseAnnotation: "true"}
	n.Labels = map[string]string{v1alpha1.ClaimLabel: "m", v1alpha1.PoolLabel: "std"}
	h.keepMachine("m")
	h.runs(10 * time.Minute)
	h.holds("m")
	require.Equal(t, map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}, h.nodes[0].Annotations)
	require.Equal(t, map[string]string{v1alpha1.PoolLabel: "std"}, h.nodes[0].Labels)
	require.False(t, h.nodes[0].Spec.Unschedulable)
	h.live.ForgetNode("m")
	h.nodes = nil
	h.restart()
	h.loop.Kube, h.loop.Backends, h.loop.Keeper.Kube, h.loop.Keeper.Backends = h, h, h, h
	h.runs(10 * time.Minute)
	require.Empty(t, h.deleted, "its Node was deleted, and the machine stays")
	require.Len(t, h.machines, 1)
	require.Empty(t, h.counts)
}

// pool puts claims into a pool that may be deleted.
func (h *estate) pool(claims int, finalizers ...string) {
	h.live.SetPool(&v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "std", UID: "pool", ResourceVersion: h.next(), Finalizers: finalizers},
		Spec:       v1alpha1.NodePoolSpec{Provider: "px", Limits: v1alpha1.Limits{MaxNodes: 10}},
	})
	offers := resources("4", "8Gi")
	for i := range claims {
		name := fmt.Sprintf("std-%03d", i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.PoolLabel: "std"}}, Status: corev1.NodeStatus{Allocatable: offers}}
		h.nodes = append(h.nodes, n)
		h.live.SetNode(n, h.now)
		h.live.SetClaim(&v1alpha1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: h.next()},
			Spec:       v1alpha1.NodeClaimSpec{Pool: "std", Provider: "px", Shape: "s", Resources: offers},
			Status:     v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: name, MachineID: "vm-" + name},
		})
	}
}

// ends deletes the pool.
func (h *estate) ends(annotations map[string]string) {
	p := h.live.Pool("std").DeepCopy()
	p.DeletionTimestamp, p.Annotations, p.ResourceVersion = new(metav1.NewTime(h.now)), annotations, h.next()
	h.live.SetPool(p)
}

func (h *estate) told() string {
	return meta.FindStatusCondition(h.live.Pool("std").Status.Conditions, v1alpha1.ConditionDeleting).Message
}

func TestADeletedPoolReleasesItsNodesAndSaysHowFarItIs(t *testing.T) {
	h := newEstate(t)
	h.pool(3)
	h.reaper.Tick(t.Context(), h.now)
	require.Equal(t, []string{v1alpha1.PoolFinalizer}, h.live.Pool("std").Finalizers, "it has claims")
	h.ends(nil)
	h.reaper.Tick(t.Context(), h.now)
	first := h.live.Claim("std-000")
	require.Equal(t, "PoolDeleted", first.Spec.Release.Reason)
	require.NotNil(t, first.Spec.Release.Drain)
	require.Nil(t, h.live.Claim("std-001").Spec.Release, "a tenth of the nodes at a time, at least one")
	require.Contains(t, h.events, "NodePool std ReleasingNodes")
	require.EqualValues(t, 3, h.live.Pool("std").Status.NodesAtDeletion)
	require.Contains(t, h.told(), "0 of 3 nodes released; waiting for std-000: its node is about to be closed; std-001: Budget (nodes 10% without a budget: 1 of 3 are on their way out or not ready)")
	require.Contains(t, h.told(), "The annotation muster.sh/keep-nodes=true keeps the others as plain nodes")

	h.live.ForgetClaim("std-000", first.UID)
	h.live.ForgetNode("std-000")
	h.reaper.Tick(t.Context(), h.now.Add(time.Minute))
	require.Contains(t, h.told(), "1 of 3 nodes released; waiting for std-001: its node is about to be closed; std-002: Budget")
	draining := h.live.Claim("std-001").DeepCopy()
	draining.ResourceVersion, draining.Status.State, draining.Status.Message = h.next(), v1alpha1.ClaimDraining, "waiting for pods to leave: 1, one of them a/b"
	h.live.SetClaim(draining)
	h.reaper.Tick(t.Context(), h.now.Add(time.Minute))
	require.Contains(t, h.told(), "std-001: Draining, waiting for pods to leave: 1, one of them a/b")
	for _, name := range []string{"std-001", "std-002"} {
		h.live.ForgetClaim(name, h.live.Claim(name).UID)
	}
	h.reaper.Tick(t.Context(), h.now.Add(2*time.Minute))
	require.Nil(t, h.live.Pool("std"))
}

// Nodes are kept in this order: the machine is listed at the Provider, that is seen, then the claim is told.
func TestADeletedPoolKeepsItsNodesWhereItSaysSo(t *testing.T) {
	h := newEstate(t)
	h.pool(2, v1alpha1.PoolFinalizer)
	h.ends(map[string]string{v1alpha1.KeepNodesAnnotation: "true"})
	h.refuse = nil
	h.reaper.Tick(t.Context(), h.now)
	kept := h.live.Provider("px").Status.KeptMachines
	require.Len(t, kept, 2)
	require.Equal(t, v1alpha1.KeptMachine{ClaimUID: h.live.Claim("std-000").UID, Claim: "std-000", ID: "vm-std-000", Node: "std-000", Since: metav1.NewTime(h.now)}, kept[0])
	require.Empty(t, h.live.Claim("std-000").Annotations, "only when the list is known to be written")
	h.reaper.Tick(t.Context(), h.now)
	for _, name := range []string{"std-000", "std-001"} {
		require.Equal(t, "true", h.live.Claim(name).Annotations[v1alpha1.KeepNodeAnnotation])
		require.Nil(t, h.live.Claim(name).Spec.Release)
	}
	require.Contains(t, h.told(), "0 of 2 nodes are plain nodes now or were released before; waiting for std-000: Kept")
	require.Contains(t, h.events, "NodePool std KeepingNodes")
}

// A pool without claims carries no finalizer; what the API server has decides.
func TestThePoolFinalizerComesOffWithTheLastClaim(t *testing.T) {
	h := newEstate(t)
	h.pool(0, v1alpha1.PoolFinalizer, "example.org/other")
	h.api = errors.New("timed out")
	h.reaper.Tick(t.Context(), h.now)
	require.Len(t, h.live.Pool("std").Finalizers, 2, "not knowing is no")
	h.api = nil
	h.reaper.Tick(t.Context(), h.now)
	require.Equal(t, []string{"example.org/other"}, h.live.Pool("std").Finalizers)
	h.reaper.Tick(t.Context(), h.now)
	require.Len(t, h.writes, 1)
}

// reluctant is an API server that writes down in which order finalizers and claims are written.
type reluctant struct {
	*notebook
	order   []string
	refuses string // writes of its finalizers fail
}

func (r *reluctant) write(what string) error {
	if r.refuses == what {
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", errors.New("no right"))
	}
	r.order = append(r.order, what)
	return nil
}

func (r *reluctant) SetPoolFinalizers(ctx context.Context, p *v1alpha1.NodePool, finalizers []string) (*v1alpha1.NodePool, error) {
	if err := r.write("NodePool"); err != nil {
		return nil, err
	}
	return r.notebook.SetPoolFinalizers(ctx, p, finalizers)
}

func (r *reluctant) SetProviderFinalizers(ctx context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error) {
	if err := r.write("Provider"); err != nil {
		return nil, err
	}
	return r.notebook.SetProviderFinalizers(ctx, p, finalizers)
}

func (r *reluctant) CreateClaim(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	r.order = append(r.order, "NodeClaim")
	return r.notebook.CreateClaim(ctx, c)
}

// A claim is created only when its pool and its Provider cannot vanish any more.
func TestAClaimIsCreatedAfterTheFinalizers(t *testing.T) {
	for _, refused := range []string{"Provider", "NodePool"} {
		d := newDesk()
		k := &reluctant{notebook: d.kube, refuses: refused}
		d.planner.Kube = k
		d.call(t, "a", "3", start)
		now := start.Add(500 * time.Millisecond)
		d.tick(now)
		require.Empty(t, d.kube.claims, refused)
		require.NotContains(t, k.order, "NodeClaim")
		k.refuses, k.order = "", nil
		d.tick(now.Add(time.Second))
		require.Len(t, d.kube.claims, 1, "the pods are planned for again")
		want := []string{"Provider", "NodePool", "NodeClaim"}
		if refused == "NodePool" {
			want = want[1:] // the Provider had its own
		}
		require.Equal(t, want, k.order)
		require.Equal(t, []string{v1alpha1.PoolFinalizer}, d.live.Pool("p").Finalizers)
		require.Equal(t, []string{v1alpha1.ProviderFinalizer}, d.live.Provider("sim").Finalizers)
		d.call(t, "b", "3", now.Add(time.Second))
		d.tick(now.Add(2 * time.Second))
		require.Len(t, d.kube.claims, 2)
		require.Equal(t, append(want, "NodeClaim"), k.order, "once")
	}
}

// Between the plan and the claim a pool or a Provider may be deleted.
func TestNoClaimIsCreatedForWhatIsBeingDeleted(t *testing.T) {
	for name, drop := range map[string]func(*desk){
		"the pool": func(d *desk) {
			p := d.live.Pool("p").DeepCopy()
			p.DeletionTimestamp = new(metav1.NewTime(start))
			d.live.SetPool(p)
		},
		"the Provider": func(d *desk) {
			p := d.live.Provider("sim").DeepCopy()
			p.DeletionTimestamp = new(metav1.NewTime(start))
			d.live.SetProvider(p)
		},
	} {
		d := newDesk()
		k := &dropping{reluctant: &reluctant{notebook: d.kube}, drop: func() { drop(d) }}
		d.planner.Kube = k
		d.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
		d.live.SetPool(&v1alpha1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, // comes first
			Spec: v1alpha1.NodePoolSpec{Provider: "late", Limits: v1alpha1.Limits{MaxNodes: 1}, Template: v1alpha1.NodeTemplate{
				Shapes: []v1alpha1.Shape{{Name: "s", Resources: resources("4", "8Gi")}}}},
		})
		d.call(t, "a", "3", start)
		d.call(t, "b", "3", start)
		d.tick(start.Add(500 * time.Millisecond))
		require.Len(t, d.kube.claims, 1, name)
		require.Contains(t, d.kube.claims, "a-000", name)
	}
}

// dropping deletes something when the first finalizer is written.
type dropping struct {
	*reluctant
	drop func()
}

func (d *dropping) SetProviderFinalizers(ctx context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error) {
	d.drop()
	return d.reluctant.SetProviderFinalizers(ctx, p, finalizers)
}

// Nodes without a pool stay, and say so once.
func TestNodesWhosePoolIsGoneSaySo(t *testing.T) {
	h := newEstate(t)
	h.pool(1)
	h.live.ForgetPool("std")
	for range 3 {
		h.reaper.Tick(t.Context(), h.now)
	}
	require.Equal(t, 1, times(h.events, "NodeClaim std-000 PoolMissing"))
	require.Nil(t, h.live.Claim("std-000").Spec.Release)
}
