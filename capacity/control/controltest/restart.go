package controltest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider"
)

// Backend makes the machine of a story. What it sends goes through the Fate that it was made with.
type Backend struct {
	// Provider is the name of its Provider.
	Provider string
	// Start is a new process over it, which remembers nothing of the one before.
	Start func() Process
	Now   func() time.Time
	// Advance lets time pass.
	Advance func(d time.Duration)
	// Trouble befalls the backend once the node is silent; nil for none.
	Trouble func()
	// Power is what the machine behind it really went through.
	Power func() Power
}

// Process is what a process has of a backend.
type Process struct {
	Provider provider.Provider
	// Tick is what it does beside what the loops ask for, with the claim as it is; nil for nothing.
	Tick func(ctx context.Context, claim *v1alpha1.NodeClaim)
}

// Power is whether a machine is on, and how often it came on and went off.
type Power struct {
	On        bool
	Ons, Offs int
}

const (
	turn    = 2 * time.Second
	listing = 14 * time.Second // between two listings
	boot    = 20 * time.Second // of a machine, until its kubelet answers
	after   = 10 * time.Minute // how long a node is silent before it is repaired
	timeout = 10 * time.Minute // of its registration
)

// ward is a cluster with one node that falls silent, and the process that looks after it.
type ward struct {
	*server
	t       *testing.T
	b       Backend
	live    *capacity.Live
	process Process
	claims  *control.Claims
	keeper  *control.Providers
	pool    *v1alpha1.NodePool
	ons     int       // how often the machine had come on when its node was last seen to boot
	booted  time.Time // when
	listed  time.Time
}

// Restart has a node fall silent and be restarted, and Muster killed at a deed of it, counted from 1; 0 kills it never. However it
// goes, the machine is switched off once and on once, and nothing strikes later. It is false when there are not so many deeds.
func Restart(t *testing.T, deed int, backend func(t *testing.T, f *Fate) Backend) (killed bool) {
	t.Helper()
	f := &Fate{at: deed}
	w := admit(t, f, backend(t, f))
	w.until(10*time.Minute, "the machine to serve", func() bool { return w.claim.Status.State == v1alpha1.ClaimReady })
	machine, before := w.claim.Status.MachineID, w.b.Power()
	require.True(t, before.On)

	w.silence()
	if w.b.Trouble != nil {
		w.b.Trouble()
	}
	f.arm()
	w.until(30*time.Minute, "the restart to be over", func() bool {
		killed = killed || f.Dead()
		require.Nil(t, w.claim.Spec.Release, "it is not replaced: %+v", w.claim.Status.Restart)
		r := w.claim.Status.Restart
		return r != nil && r.Over()
	})
	w.run(6 * time.Minute)
	killed = killed || f.Dead()
	require.Equal(t, v1alpha1.RestartRecovered, w.claim.Status.Restart.Step, w.claim.Status.Message)
	require.Equal(t, Power{On: true, Ons: before.Ons + 1, Offs: before.Offs + 1}, w.b.Power(), "one restart, and nothing later")
	require.Equal(t, machine, w.claim.Status.MachineID)
	require.EqualValues(t, 1, w.claim.Status.Attempts)
	require.Equal(t, v1alpha1.ClaimReady, w.claim.Status.State)
	require.Nil(t, w.claim.Spec.Release, "it is not replaced")
	return killed
}

// Restarts plays Restart with a kill between any two deeds of the story.
func Restarts(t *testing.T, backend func(t *testing.T, f *Fate) Backend) {
	t.Helper()
	deed := 1
	for Restart(t, deed, backend) {
		deed++
	}
	require.Greater(t, deed, 10, "a restart has more deeds than that")
	t.Logf("killed after each of %d deeds", deed-1)
}

func admit(t *testing.T, f *Fate, b Backend) *ward {
	w := &ward{t: t, b: b, server: &server{fate: f, now: b.Now}}
	resources := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	w.backend = &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: b.Provider}}
	w.pool = &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "std"}, Spec: v1alpha1.NodePoolSpec{Provider: b.Provider,
		Repair: &v1alpha1.Repair{After: metav1.Duration{Duration: after}, Strategy: v1alpha1.RepairByRestart}}}
	w.claim = &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "std-000", UID: claimUID, Generation: 1},
		Spec: v1alpha1.NodeClaimSpec{Pool: "std", Provider: b.Provider, Shape: "m", Resources: resources, MaxAttempts: 3,
			RegistrationTimeout: metav1.Duration{Duration: timeout}}}
	w.start()
	return w
}

// start is a new process: all that it knows is in the API server.
func (w *ward) start() {
	w.fate.revive()
	w.process = w.b.Start()
	w.live = capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	log := slog.New(slog.DiscardHandler)
	permit := &control.Gate{Live: w.live, Kube: w, Backends: w, Log: log, Cluster: "own", Now: w.b.Now}
	w.claims = &control.Claims{Live: w.live, Kube: w, Nodes: w, Backends: w, Log: log, Cluster: "own", Gate: permit, Now: w.b.Now}
	w.claims.Lead(w.b.Now())
	w.keeper = &control.Providers{Live: w.live, Kube: w, Backends: w, Log: log, Machines: func(string, int, int) {},
		Keeper: &control.Keeper{Live: w.live, Kube: w, Nodes: w, Backends: w, Log: log, Cluster: "own", Gate: permit}}
	w.live.SetPool(w.pool)
	w.listed = time.Time{}
}

// Backend is what the process has of its provider.
func (w *ward) Backend(string) (provider.Provider, error) { return w.process.Provider, nil }

// watch has the process see what the API server has.
func (w *ward) watch() {
	w.live.SetProvider(w.backend.DeepCopy())
	w.live.SetClaim(w.claim.DeepCopy())
	if w.node != nil {
		w.live.SetNode(w.node.DeepCopy(), w.b.Now())
	}
}

func (w *ward) run(d time.Duration) {
	for end := w.b.Now().Add(d); w.b.Now().Before(end); {
		w.turn()
	}
}

func (w *ward) until(most time.Duration, what string, done func() bool) {
	w.t.Helper()
	for end := w.b.Now().Add(most); !done(); {
		require.True(w.t, w.b.Now().Before(end), "waiting for %s: %s %+v %s", what, w.claim.Status.State, w.claim.Status.Restart, w.claim.Status.Message)
		w.turn()
	}
}

// turn is what a process does in two seconds; a dead one is followed by the next after as long.
func (w *ward) turn() {
	if w.fate.Dead() {
		w.start()
	}
	w.kubelet()
	w.watch()
	if w.b.Now().Sub(w.listed) >= listing {
		w.listed = w.b.Now()
		w.keeper.Tick(w.t.Context(), w.b.Now())
	}
	if _, err := w.claims.Reconcile(w.t.Context(), w.claim.Name); err != nil && !w.fate.Dead() {
		require.True(w.t, control.Conflict(err), "%v", err)
	}
	if w.process.Tick != nil {
		w.process.Tick(w.t.Context(), w.claim.DeepCopy())
	}
	w.b.Advance(turn)
}

// kubelet registers the machine's node, and reports ready whenever the machine has booted.
func (w *ward) kubelet() {
	p := w.b.Power()
	switch {
	case !p.On:
		return
	case p.Ons != w.ons:
		w.ons, w.booted = p.Ons, w.b.Now()
		return
	case w.booted.IsZero() || w.b.Now().Sub(w.booted) < boot || w.claim.Status.SystemUUID == "":
		return
	}
	w.booted = time.Time{}
	if w.node == nil {
		w.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.claim.Name, UID: "node"}, Spec: corev1.NodeSpec{ProviderID: w.claim.Status.ProviderID},
			Status: corev1.NodeStatus{Allocatable: w.claim.Spec.Resources, NodeInfo: corev1.NodeSystemInfo{SystemUUID: w.claim.Status.SystemUUID}}}
	}
	w.reports(corev1.ConditionTrue)
}

// silence is a kubelet that has not answered for as long as its pool waits; the machine is on all the while.
func (w *ward) silence() {
	w.reports(corev1.ConditionUnknown, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute,
		TimeAdded: &metav1.Time{Time: w.b.Now().Add(-after)}})
}

// reports has the node lifecycle controller write down what it hears.
func (w *ward) reports(ready corev1.ConditionStatus, taints ...corev1.Taint) {
	w.node = w.node.DeepCopy()
	w.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	for _, t := range w.node.Spec.Taints {
		if t.Key != corev1.TaintNodeUnreachable {
			taints = append(taints, t)
		}
	}
	w.node.Spec.Taints = taints
}
