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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// house is a provider with machines, an API server with claims, nodes and pods, and the loop that looks at both.
type house struct {
	*notebook
	provider.Provider // Create and Check are called by nobody
	t                 *testing.T
	live              *capacity.Live
	loop              *control.Providers
	now               time.Time
	counts            map[housekeeping.Standing]int
	removed           int
	restarts          int
	replaced          int

	machines []provider.Machine
	listing  error // what the next listings fail with
	partial  bool  // and whether they show a part all the same
	looking  error
	nodes    []*corev1.Node
	pods     []corev1.Pod
	api      error // of reads past the cache
	deleted  []string
	unlisted []types.UID // claims that the cache does not have
}

func newHouse(t *testing.T) *house {
	h := &house{notebook: newNotebook(), t: t, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		live: capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})}
	h.restart()
	h.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "px"}})
	return h
}

// restart is a new leader: it remembers nothing.
func (h *house) restart() {
	log := slog.New(slog.DiscardHandler)
	h.loop = &control.Providers{Live: h.live, Kube: h, Backends: h, Log: log, Machines: func(string, int, int) {},
		Keeper: &control.Keeper{Live: h.live, Kube: h, Nodes: h, Backends: h, Log: log, Cluster: "own",
			Gate:      &control.Gate{Live: h.live, Kube: h, Backends: h, Log: log, Cluster: "own", Now: func() time.Time { return h.now }},
			Standings: func(_ string, counts map[housekeeping.Standing]int) { h.counts = counts },
			Removed:   func(string) { h.removed++ }}}
}

func (h *house) Backend(string) (provider.Provider, error) { return h, nil }

func (h *house) List(context.Context) ([]provider.Machine, error) {
	if h.partial {
		return h.machines[:len(h.machines)/2], h.listing
	}
	return slices.Clone(h.machines), h.listing
}

func (h *house) Get(_ context.Context, m provider.Machine) (provider.Machine, error) {
	i := slices.IndexFunc(h.machines, func(o provider.Machine) bool { return o.ClaimUID == m.ClaimUID })
	switch {
	case h.looking != nil:
		return provider.Machine{}, h.looking
	case i < 0:
		return provider.Machine{}, provider.ErrNotFound
	}
	return h.machines[i], nil
}

// Delete takes two calls: the first stops the machine.
func (h *house) Delete(_ context.Context, m provider.Machine, p gate.Proof) error {
	require.NoError(h.t, p.Spend(gate.Delete, m.Subject(), h.now))
	i := slices.IndexFunc(h.machines, func(o provider.Machine) bool { return o.ClaimUID == m.ClaimUID })
	require.GreaterOrEqual(h.t, i, 0)
	h.deleted = append(h.deleted, string(m.ID))
	if h.machines[i].State == provider.StateRunning {
		h.machines[i].State = provider.StateDeleting
		return nil
	}
	h.machines = slices.Delete(h.machines, i, i+1)
	return provider.ErrNotFound
}

func (h *house) Claims(context.Context) ([]*v1alpha1.NodeClaim, error) {
	claims, _ := h.live.Claims()
	for _, uid := range h.unlisted {
		claims = append(slices.Clone(claims), &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "late", UID: uid}})
	}
	return claims, h.api
}

func (h *house) PodsOn(_ context.Context, node string) ([]corev1.Pod, error) {
	on := slices.Clone(h.pods)
	return slices.DeleteFunc(on, func(p corev1.Pod) bool { return p.Spec.NodeName != node }), h.api
}

func (h *house) UpdateNode(_ context.Context, from, to *corev1.Node) error {
	h.nodes[slices.Index(h.nodes, from)] = to
	h.live.SetNode(to, h.now)
	return nil
}

func (h *house) Nodes(context.Context) ([]*corev1.Node, error) { return h.nodes, h.api }

func (h *house) DeleteNode(_ context.Context, name string, _ types.UID, p gate.Proof) error {
	require.NoError(h.t, p.SpendNode(name, h.now))
	h.nodes = slices.DeleteFunc(h.nodes, func(n *corev1.Node) bool { return n.Name == name })
	h.live.ForgetNode(name)
	return nil
}

func (h *house) Candidates(name, providerID, _ string) (found []*corev1.Node) {
	for _, n := range h.nodes {
		if n.Name == name || providerID != "" && n.Spec.ProviderID == providerID {
			found = append(found, n)
		}
	}
	return found
}

func (h *house) UpdateProviderStatus(_ context.Context, p *v1alpha1.Provider) error {
	h.live.SetProvider(p)
	return nil
}

// machine runs, with a Ready node, and its claim where there is one.
func (h *house) machine(name string, cluster types.UID, claimed bool) {
	m := provider.Machine{ID: provider.ID("vm-" + name), Claim: name, ClaimUID: types.UID("uid-" + name), Attempt: 1, Cluster: cluster,
		State: provider.StateRunning, NodeName: name, ProviderID: "px://" + name, Identity: v1alpha1.MachineIdentity{ID: "vm-" + name, SystemUUID: "uuid-" + name}}
	h.machines = append(h.machines, m)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name)}, Spec: corev1.NodeSpec{ProviderID: m.ProviderID}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	h.nodes = append(h.nodes, n)
	h.live.SetNode(n, h.now)
	if claimed {
		c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: m.ClaimUID}, Spec: v1alpha1.NodeClaimSpec{Provider: "px"}}
		c.Status.State, c.Status.NodeName, c.Status.ProviderID = v1alpha1.ClaimReady, name, m.ProviderID
		h.live.SetClaim(c)
	}
}

// runs lets time pass, with a listing every 15 seconds.
func (h *house) runs(d time.Duration) {
	for end := h.now.Add(d); h.now.Before(end); h.now = h.now.Add(15 * time.Second) {
		h.loop.Tick(h.t.Context(), h.now)
	}
}

func (h *house) names() (machines, nodes []string) {
	for _, m := range h.machines {
		machines = append(machines, m.Claim)
	}
	for _, n := range h.nodes {
		nodes = append(nodes, n.Name)
	}
	return machines, nodes
}

func (h *house) holds(names ...string) {
	h.t.Helper()
	machines, nodes := h.names()
	require.Equal(h.t, names, machines)
	require.Equal(h.t, names, nodes)
}

func TestAnOrphanIsGoneWithinTwoMinutesOfTheFirstListing(t *testing.T) {
	h := newHouse(t)
	h.machine("kept", "own", true)
	h.machine("lost", "own", false)
	h.runs(housekeeping.Grace)
	require.Empty(t, h.deleted)
	require.False(t, h.nodes[1].Spec.Unschedulable, "a suspicion changes nothing")
	h.runs(2*time.Minute - housekeeping.Grace)
	h.holds("kept")
	require.Equal(t, []string{"vm-lost", "vm-lost"}, h.deleted)
	require.Equal(t, 1, h.removed)
	require.Contains(t, h.events, "Node lost Fenced")
	require.Contains(t, h.events, "Provider px MachineWithoutClaim")
	require.Empty(t, h.counts)
}

func TestAnOrphanThatRunsPodsIsFencedAndToldAndStays(t *testing.T) {
	h := newHouse(t)
	h.machine("lost", "own", false)
	h.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: "lost"}}}
	h.runs(time.Hour)
	h.holds("lost")
	require.Empty(t, h.deleted)
	require.True(t, housekeeping.Fenced(h.nodes[0]))
	require.Equal(t, map[housekeeping.Standing]int{housekeeping.Busy: 1}, h.counts)
	h.pods = nil
	h.restart()
	h.runs(2 * time.Minute)
	h.holds()
}

// TestWhatIsNotProvenAnOrphanLives: each of these is a reason to leave a machine alone, for as long as it lasts.
func TestWhatIsNotProvenAnOrphanLives(t *testing.T) {
	for name, doubt := range map[string]func(*house){
		"the provider lists in part":           func(h *house) { h.listing, h.partial = provider.ErrUnknown, true },
		"the provider does not list":           func(h *house) { h.listing = errors.New("timed out") },
		"the API server does not answer":       func(h *house) { h.api = errors.New("timed out") },
		"the cache is behind: it has a claim":  func(h *house) { h.unlisted = []types.UID{"uid-m"} },
		"it is another cluster's":              func(h *house) { h.machines[0].Cluster = "another" },
		"its mark does not say whose it is":    func(h *house) { h.machines[0].Cluster = "" },
		"Muster does not know its own cluster": func(h *house) { h.loop.Keeper.Cluster = "" },
		"somebody else leads":                  func(h *house) { h.loop.Keeper.Leading = func() bool { return false } },
		"somebody wants its node kept": func(h *house) {
			h.nodes[0].Annotations = map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}
		},
		"a pod is on its way there": func(h *house) {
			p := pod("p", "1")
			p.Status.NominatedNodeName = "m"
			h.live.SetPod(p, h.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.machine("m", "own", false)
			doubt(h)
			h.runs(time.Hour)
			h.holds("m")
			require.Empty(t, h.deleted)
		})
	}
}

// A claim was made again under its name: the node is the new machine's, and goes with neither the old one nor its fence.
func TestTheNodeOfALiveClaimIsNotFencedForAnOrphanOfItsName(t *testing.T) {
	h := newHouse(t)
	h.machine("std-000", "own", true)
	old := h.machines[0]
	old.ID, old.ClaimUID, old.ProviderID = "vm-old", "uid-old", "px://old"
	old.Identity = v1alpha1.MachineIdentity{ID: "vm-old", SystemUUID: "uuid-old"}
	h.machines = append(h.machines, old)
	h.runs(3 * time.Minute)
	h.holds("std-000")
	require.Equal(t, []string{"vm-old", "vm-old"}, h.deleted)
	require.False(t, h.nodes[0].Spec.Unschedulable)
}

func TestANodeWithoutClaimAndMachineGoesOnProofOnly(t *testing.T) {
	for name, c := range map[string]struct {
		setting func(*house)
		gone    bool
	}{
		"proven gone":                    {func(*house) {}, true},
		"the provider does not answer":   {func(h *house) { h.looking = provider.ErrUnknown }, false},
		"the API server does not answer": {func(h *house) { h.api = errors.New("timed out") }, false},
		"the API server has its claim":   {func(h *house) { h.unlisted = []types.UID{"uid-n"} }, false},
		"its machine is there":           {func(h *house) { h.machines = []provider.Machine{{ID: "n", ClaimUID: "uid-n"}} }, false},
		"M08: the provider that made it is gone": {func(h *house) {
			h.nodes[0].Annotations[v1alpha1.ProviderAnnotation] = "gone"
		}, false},
		"who made it is not known": {func(h *house) { delete(h.nodes[0].Annotations, v1alpha1.ProviderAnnotation) }, false},
		"a second provider is silent": {func(h *house) {
			h.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "b"}})
			h.looking = provider.ErrBusy
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.machine("n", "own", false)
			h.machines = nil
			h.nodes[0].Annotations = map[string]string{v1alpha1.RegisteredAnnotation: "uid-n", v1alpha1.ProviderAnnotation: "px"}
			h.nodes[0].Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown,
				LastTransitionTime: metav1.NewTime(h.now)}
			c.setting(h)
			h.runs(housekeeping.StrayAge)
			require.Len(t, h.nodes, 1, "it may still come back")
			h.runs(time.Minute)
			require.Equal(t, c.gone, len(h.nodes) == 0, fmt.Sprint(h.names()))
		})
	}
}
