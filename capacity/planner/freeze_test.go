package planner

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/internal/scene"
	"github.com/muster-sh/muster/provider/gate"
)

// A frozen pool orders nothing; its pods go to other pools, and where none takes them they are told why.
func TestAFrozenPoolOrdersNothing(t *testing.T) {
	for name, c := range map[string]struct {
		data map[string]string
		pool string // that the machine is ordered from
		want capacity.Reason
	}{
		"nothing is frozen":                       {nil, "first", capacity.Reason{}},
		"releases are frozen":                     {map[string]string{"releases": "*"}, "first", capacity.Reason{}},
		"the pool is frozen, and another one not": {map[string]string{"provisioning": "first"}, "second", capacity.Reason{}},
		"all pools are frozen": {map[string]string{"provisioning": "*", "by": "alice", "reason": "inventory"}, "",
			capacity.Reason{Code: capacity.CodePoolFrozen, Detail: "provisioning is frozen by alice: inventory"}},
		"what is frozen cannot be understood": {map[string]string{"x": "y"}, "",
			capacity.Reason{Code: capacity.CodePoolFrozen, Detail: "provisioning is frozen: ConfigMap muster-freeze cannot be understood: " +
				"data.x: there is no such key; use releases, provisioning, reason, by or since"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene.New()
			s.SetProvider(&v1alpha1.Provider{ObjectMeta: object.Claim("sim", "").ObjectMeta})
			for i, pool := range []string{"second", "first"} {
				p := object.Pool(pool, 5, object.Shape("small", "cpu", "4", "memory", "8Gi"))
				p.Spec.Weight = int32(i)
				s.SetPool(p)
			}
			s.Pods(object.Unscheduled(object.Pod("a", "cpu", "2"), corev1.PodReasonUnschedulable))
			s.SetFreeze(gate.ParseFreeze(c.data))
			plan := Plan(s.View(), s.Now)
			require.Equal(t, c.want, plan.Outcomes["a"].Reason)
			if c.pool == "" {
				require.Empty(t, plan.Creates)
				require.Equal(t, capacity.Unserved, plan.Outcomes["a"].Fate)
				require.Contains(t, plan.Outcomes["a"].String(), "the pool orders no machine: provisioning is frozen")
				return
			}
			require.Len(t, plan.Creates, 1)
			require.Equal(t, c.pool, plan.Creates[0].Claim.Spec.Pool)
		})
	}
}

// Neither a minimum nor spare nodes are a reason to order while the pool is frozen; a machine on its way still takes its pods.
func TestAFrozenPoolKeepsWhatIsOnItsWay(t *testing.T) {
	s := scene.New()
	s.SetProvider(&v1alpha1.Provider{ObjectMeta: object.Claim("sim", "").ObjectMeta})
	p := object.Pool("pool", 5, object.Shape("small", "cpu", "4", "memory", "8Gi"))
	p.Spec.Limits.MinNodes = 3
	s.SetPool(p)
	s.Pods(object.Unscheduled(object.Pod("a", "cpu", "2"), corev1.PodReasonUnschedulable))
	plan := Plan(s.View(), s.Now)
	require.Len(t, plan.Creates, 3)
	made := plan.Creates[0].Claim.DeepCopy()
	made.UID = "made"
	s.SetClaim(made)

	s.SetFreeze(gate.ParseFreeze(map[string]string{"provisioning": "*"}))
	plan = Plan(s.View(), s.Now)
	require.Empty(t, plan.Creates)
	require.Equal(t, capacity.Outcome{Fate: capacity.Waits, Claim: made.Name}, plan.Outcomes["a"])

	s.SetFreeze(gate.Freeze{})
	require.Len(t, Plan(s.View(), s.Now).Creates, 2)
}
