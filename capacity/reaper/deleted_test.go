package reaper_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/reaper"
)

// drop deletes the world's pool; its finalizer keeps it.
func (w *world) drop() {
	w.pool.DeletionTimestamp, w.pool.Finalizers = new(metav1.NewTime(start)), []string{v1alpha1.PoolFinalizer}
	w.live.SetPool(w.pool)
}

// keepNodes annotates the pool.
func (w *world) keepNodes() {
	w.pool.Annotations = map[string]string{v1alpha1.KeepNodesAnnotation: "true"}
	w.live.SetPool(w.pool)
}

func inState(state v1alpha1.ClaimState, node string) func(*v1alpha1.NodeClaim) {
	return func(c *v1alpha1.NodeClaim) { c.Status.State, c.Status.NodeName = state, node }
}

func releases(d reaper.Decision) (names []string) {
	for _, r := range d.Release {
		names = append(names, r.Claim.Name)
	}
	return names
}

func TestWhatBecomesOfANodeOfADeletedPool(t *testing.T) {
	for name, c := range map[string]struct {
		build  func(*world)
		want   reaper.Reason // of p-000
		detail string
	}{
		"an empty one goes at once":               {func(w *world) { w.node(0) }, reaper.PoolDeleted, ""},
		"one with pods goes":                      {func(w *world) { w.node(0); w.run("a", 0, "1") }, reaper.PoolDeleted, ""},
		"no minimum keeps it":                     {func(w *world) { w.pool.Spec.Limits.MinNodes = 5; w.node(0) }, reaper.PoolDeleted, ""},
		"scaleDown.disabled does not keep it":     {func(w *world) { w.pool.Spec.ScaleDown.Disabled = true; w.node(0) }, reaper.PoolDeleted, ""},
		"that its pods fit nowhere does not, too": {func(w *world) { w.node(0); w.run("a", 0, "4") }, reaper.PoolDeleted, ""},
		"a budget of the pool keeps it": {func(w *world) {
			w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(0)}}
			w.node(0)
		}, reaper.Budget, "nodes 0: 0 of 1 are on their way out or not ready"},
		"a budget for another reason does not": {func(w *world) {
			w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(0), Reasons: []v1alpha1.ReleaseReason{v1alpha1.ReleaseIdle}}}
			w.node(0)
		}, reaper.PoolDeleted, ""},
		"a freeze of its releases keeps it": {func(w *world) { w.node(0); w.freeze("releases", "p") }, reaper.Frozen, "releases are frozen by alice"},
		"a freeze that cannot be understood keeps a machine on its way": {func(w *world) {
			w.node(0, inState(v1alpha1.ClaimJoining, ""))
			w.freeze("releases", "")
		}, reaper.Frozen, "releases are frozen: ConfigMap muster-freeze cannot be understood"},
		"a freeze of another pool does not": {func(w *world) { w.node(0); w.freeze("releases", "other") }, reaper.PoolDeleted, ""},
		"a budget of its pods keeps it": {func(w *world) { w.node(0); w.run("a", 0, "1", labelled); w.protect("pdb", 0) },
			reaper.PodBudget, "budget pdb keeps pod default/a"},
		"an annotation keeps it": {func(w *world) {
			w.node(0, func(c *v1alpha1.NodeClaim) {
				c.Annotations = map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}
			})
		}, reaper.Protected, "an annotation of the claim or the node keeps it"},
		"a bare pod keeps it":              {func(w *world) { w.node(0); w.live.SetPod(pod("a", "p-000"), start) }, "BarePod", "pod default/a"},
		"a provider that is gone keeps it": {func(w *world) { w.node(0); w.live.ForgetProvider("sim") }, reaper.NoProvider, ""},
		"a provider that is being deleted does not": {func(w *world) {
			w.node(0)
			w.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim", Finalizers: []string{v1alpha1.ProviderFinalizer},
				DeletionTimestamp: new(metav1.NewTime(start))}})
		}, reaper.PoolDeleted, ""},
		"people who stopped releases keep it": {func(w *world) { w.node(0); w.freeze("releases", "p") }, reaper.Frozen, "alice"},
		"a drain that was undone a moment ago keeps it": {func(w *world) {
			again := metav1.NewMicroTime(start.Add(time.Hour))
			w.node(0, func(c *v1alpha1.NodeClaim) { c.Status.DrainAgain = &again })
		}, reaper.BackingOff, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0)
			c.build(w)
			w.drop()
			d := w.decide(time.Second)
			require.Equal(t, c.want, d.Reasons["p-000"])
			require.Contains(t, d.Details["p-000"], c.detail)
			if c.want != reaper.PoolDeleted {
				require.Empty(t, d.Release)
				return
			}
			require.Len(t, d.Release, 1)
			require.NotNil(t, d.Release[0].Drain, "what comes late is evicted, too")
			require.Equal(t, "pool p is being deleted", d.Release[0].Message)
		})
	}
}

func TestNodesOfADeletedPoolGoWithinItsBudgetTheEmptiestFirst(t *testing.T) {
	w := newWorld(0)
	for i := range 10 {
		w.node(i)
		if i != 7 {
			w.run("a"+string(rune('0'+i)), i, "1")
		}
	}
	w.drop()
	d := w.decide(time.Second)
	require.Equal(t, []string{"p-007"}, releases(d), "a tenth")
	require.Equal(t, reaper.Budget, d.Reasons["p-000"])
	require.Len(t, d.Waning, 10, "pods had better go elsewhere")
	w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromString("30%")}}
	require.Equal(t, []string{"p-007", "p-000", "p-001"}, releases(w.decide(time.Second)))
}

// Pods that wait do not open a node again whose pool is being deleted.
func TestTheReleaseOfADeletedPoolIsNotTakenBackForDemand(t *testing.T) {
	w := newWorld(0)
	w.node(0, func(c *v1alpha1.NodeClaim) {
		c.Spec.Release = &v1alpha1.Release{Reason: string(reaper.PoolDeleted), Drain: &v1alpha1.Drain{}}
		c.Status.State = v1alpha1.ClaimDraining
	})
	w.drop()
	w.live.SetPod(pod("waits", "", func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}), start)
	require.Empty(t, w.decide(time.Hour).Reopen)
}

func TestClaimsOfADeletedPoolThatAreNotReady(t *testing.T) {
	released := func(c *v1alpha1.NodeClaim) { c.Spec.Release = &v1alpha1.Release{Reason: "Idle"} }
	for name, c := range map[string]struct {
		change        []func(*v1alpha1.NodeClaim)
		cancel, keeps bool // keeps: with the annotation it is not cancelled
	}{
		"on its way":            {[]func(*v1alpha1.NodeClaim){inState(v1alpha1.ClaimLaunching, "")}, true, false},
		"without an order":      {[]func(*v1alpha1.NodeClaim){inState("", "")}, true, false},
		"failed":                {[]func(*v1alpha1.NodeClaim){inState(v1alpha1.ClaimFailed, "")}, true, false},
		"its node starts":       {[]func(*v1alpha1.NodeClaim){inState(v1alpha1.ClaimStarting, "p-000")}, true, true},
		"it is given back":      {[]func(*v1alpha1.NodeClaim){inState(v1alpha1.ClaimReleasing, "p-000"), released}, false, false},
		"somebody deleted it":   {[]func(*v1alpha1.NodeClaim){inState(v1alpha1.ClaimLaunching, ""), func(c *v1alpha1.NodeClaim) { c.DeletionTimestamp = new(metav1.NewTime(start)) }}, false, false},
		"it is about to reopen": {[]func(*v1alpha1.NodeClaim){inState(v1alpha1.ClaimDraining, "p-000")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				w := newWorld(0)
				w.node(0, c.change...)
				w.drop()
				if keep {
					w.keepNodes()
				}
				d := w.decide(time.Second)
				require.Equal(t, c.cancel && !(keep && c.keeps), len(d.Cancel) == 1, "keep %v: %v", keep, d.Reasons)
				require.Empty(t, d.Release)
				require.Empty(t, d.Keep)
				require.Empty(t, d.Reopen)
			}
		})
	}
}

// A freeze of releases stops what is on its way, too; keeping nodes destroys nothing, and goes on.
func TestAFreezeOfADeletedPool(t *testing.T) {
	w := newWorld(0)
	w.node(0, inState(v1alpha1.ClaimLaunching, ""))
	w.node(1)
	w.freeze("releases", "p")
	w.drop()
	d := w.decide(time.Second)
	require.Empty(t, slices.Concat(d.Release, d.Cancel))
	require.Equal(t, reaper.Frozen, d.Reasons["p-000"])
	require.Equal(t, reaper.Frozen, d.Reasons["p-001"])
	w.keepNodes()
	require.Len(t, w.decide(time.Second).Keep, 1)
}

func TestNodesOfADeletedPoolAreKeptWhereItSaysSo(t *testing.T) {
	w := newWorld(0)
	w.node(0)
	w.run("a", 0, "1")
	w.node(1, func(c *v1alpha1.NodeClaim) {
		c.Spec.Release = &v1alpha1.Release{Reason: string(reaper.PoolDeleted), Drain: &v1alpha1.Drain{}}
		c.Status.State = v1alpha1.ClaimDraining
	})
	w.node(2, func(c *v1alpha1.NodeClaim) { c.Annotations = map[string]string{v1alpha1.KeepNodeAnnotation: "true"} })
	w.keepNodes()
	require.Empty(t, w.decide(time.Second).Keep, "the pool is not deleted")
	w.drop()
	d := w.decide(time.Second)
	require.Len(t, d.Keep, 1)
	require.Equal(t, "p-000", d.Keep[0].Name)
	require.Len(t, d.Reopen, 1, "before the provider is called the release can be taken back")
	require.Equal(t, "p-001", d.Reopen[0].Claim.Name)
	require.Empty(t, slices.Concat(d.Release, d.Cancel))
	require.Equal(t, reaper.Kept, d.Reasons["p-002"])
	require.Empty(t, d.Waning)
}

// A pool that is made again under its name owns the claims that name it: they count for its limits and follow its rules.
func TestAPoolThatIsMadeAgainOwnsTheClaimsOfItsName(t *testing.T) {
	w := newWorld(0)
	w.node(0)
	w.drop()
	w.live.ForgetPool("p") // its finalizer was taken off by hand
	require.Equal(t, reaper.NoPool, w.decide(time.Hour).Reasons["p-000"])
	again := w.pool.DeepCopy()
	again.UID, again.DeletionTimestamp = "again", nil
	again.Spec.Limits.MinNodes = 1
	w.live.SetPool(again)
	require.Equal(t, reaper.MinNodes, w.decide(time.Hour).Reasons["p-000"])
	again = again.DeepCopy()
	again.Spec.Limits.MinNodes = 0
	w.live.SetPool(again)
	require.Equal(t, reaper.Idle, w.decide(time.Hour).Reasons["p-000"])
}
