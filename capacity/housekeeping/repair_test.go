package housekeeping_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/housekeeping"
)

// hospital is a pool of nodes, of which some have been silent for so long.
type hospital struct {
	live *capacity.Live
	pool *v1alpha1.NodePool
}

func newHospital() *hospital {
	h := &hospital{live: capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")}), pool: &v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: v1alpha1.NodePoolSpec{Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 50},
			Repair: &v1alpha1.Repair{After: metav1.Duration{Duration: 10 * time.Minute}, Strategy: v1alpha1.RepairByReplacement}},
	}}
	h.live.SetPool(h.pool)
	h.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}})
	return h
}

func (h *hospital) node(i int, silent time.Duration, change ...func(*v1alpha1.NodeClaim, *corev1.Node)) {
	name := capacity.SlotName("p", i)
	c := &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec:       v1alpha1.NodeClaimSpec{Pool: "p", Provider: "sim", Shape: "s"},
		Status:     v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: name},
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.PoolLabel: "p"}}}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	if silent > 0 {
		n.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: start.Add(-silent)}},
		}
	}
	for _, f := range change {
		f(c, n)
	}
	h.live.SetNode(n, start.Add(-silent))
	h.live.SetClaim(c)
}

func TestRepair(t *testing.T) {
	released := func(reason string, state v1alpha1.ClaimState) func(*v1alpha1.NodeClaim, *corev1.Node) {
		return func(c *v1alpha1.NodeClaim, _ *corev1.Node) {
			c.Spec.Release, c.Status.State = &v1alpha1.Release{Reason: reason}, state
		}
	}
	for name, c := range map[string]struct {
		build    func(*hospital)
		replaced []string
		spared   []string
		verdict  housekeeping.Verdict // of p-000
	}{
		"silent for long enough":       {func(h *hospital) { h.node(0, 10*time.Minute) }, []string{"p-000"}, nil, housekeeping.Replaced},
		"silent for a moment less":     {func(h *hospital) { h.node(0, 10*time.Minute-1) }, nil, nil, housekeeping.NotYet},
		"ready":                        {func(h *hospital) { h.node(0, 0) }, nil, nil, ""},
		"its pool does not ask for it": {func(h *hospital) { h.pool.Spec.Repair = nil; h.node(0, time.Hour) }, nil, nil, housekeeping.NotAsked},
		"somebody wants it kept": {func(h *hospital) {
			h.node(0, time.Hour, func(_ *v1alpha1.NodeClaim, n *corev1.Node) {
				n.Annotations = map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}
			})
		}, nil, nil, housekeeping.Guarded},
		"a drain of it was undone": {func(h *hospital) {
			h.node(0, time.Hour, func(c *v1alpha1.NodeClaim, _ *corev1.Node) {
				again := metav1.NewMicroTime(start.Add(time.Minute))
				c.Status.DrainAgain = &again
			})
		}, nil, nil, housekeeping.BackedOff},
		"the provider does not answer": {func(h *hospital) {
			p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}}
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}}
			h.live.SetProvider(p)
			h.node(0, time.Hour)
		}, nil, nil, housekeeping.NoAnswer},
		"the provider is being deleted": {func(h *hospital) {
			h.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim", DeletionTimestamp: new(metav1.NewTime(start))}})
			h.node(0, time.Hour)
		}, nil, nil, housekeeping.NoAnswer},
		"a fifth of ten is silent: one at a time, the longest first": {func(h *hospital) { h.many(10, 2) }, []string{"p-001"}, nil, housekeeping.InTurn},
		"more than a fifth of ten is silent":                         {func(h *hospital) { h.many(10, 3) }, nil, nil, housekeeping.Silence},
		"a third of the cluster is silent":                           {func(h *hospital) { h.many(6, 2) }, nil, nil, housekeeping.Silence},
		"another one is being replaced": {func(h *hospital) {
			h.many(10, 1)
			h.node(10, time.Hour, released(housekeeping.Unhealthy, v1alpha1.ClaimReleasing))
		}, nil, nil, housekeeping.InTurn},
		"it is being released already": {func(h *hospital) { h.node(0, time.Hour, released("Idle", v1alpha1.ClaimDraining)) }, nil, nil, ""},
		"it came back while it drained": {func(h *hospital) { h.node(0, 0, released(housekeeping.Unhealthy, v1alpha1.ClaimDraining)) },
			nil, []string{"p-000"}, ""},
		"it came back when its machine was going": {func(h *hospital) {
			h.node(0, 0, released(housekeeping.Unhealthy, v1alpha1.ClaimReleasing))
		}, nil, nil, ""},
		"it is ready, and drains for another reason": {func(h *hospital) { h.node(0, 0, released("Idle", v1alpha1.ClaimDraining)) }, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHospital()
			c.build(h)
			r := housekeeping.Repair(h.live.View(), start)
			var replaced, spared []string
			for _, one := range r.Replace {
				replaced = append(replaced, one.Claim.Name)
			}
			for _, claim := range r.Spare {
				spared = append(spared, claim.Name)
			}
			require.Equal(t, c.replaced, replaced)
			require.Equal(t, c.spared, spared)
			require.Equal(t, c.verdict, r.Reasons["p-000"])
		})
	}
}

// many makes so many nodes, of which the first have been silent, the later the longer.
func (h *hospital) many(nodes, silent int) {
	for i := range nodes {
		if i < silent {
			h.node(i, time.Hour+time.Duration(i)*time.Minute)
		} else {
			h.node(i, 0)
		}
	}
}

// Whatever is silent: one node of a pool at a time, and none while more than a fifth of it is.
func TestRepairStaysWithinItsBudget(t *testing.T) {
	for nodes := 1; nodes <= 30; nodes++ {
		for silent := range nodes + 1 {
			h := newHospital()
			h.many(nodes, silent)
			r := housekeeping.Repair(h.live.View(), start)
			require.LessOrEqual(t, len(r.Replace), 1)
			if silent > max(1, (nodes+4)/5) {
				require.Empty(t, r.Replace, fmt.Sprint(silent, " of ", nodes))
			}
		}
	}
}
