package preemption_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/preemption"
)

func TestWhenNoPoolMayGrow(t *testing.T) {
	unserved := func(codes ...capacity.Reason) capacity.Outcome {
		o := capacity.Outcome{Fate: capacity.Unserved}
		for _, r := range codes {
			o.Pools = append(o.Pools, capacity.PoolReason{Pool: "p", Reason: r})
			o.Reason = r
		}
		return o
	}
	of := func(code capacity.Code, detail string) capacity.Reason {
		return capacity.Reason{Code: code, Detail: detail}
	}
	limit, large := of(capacity.CodePoolLimit, "maxNodes 3"), of(capacity.CodeTooLarge, "s offers cpu 4")
	for name, c := range map[string]struct {
		outcome capacity.Outcome
		waited  time.Duration
		want    bool
	}{
		"every pool is at a limit, or too small":          {unserved(limit, large), 0, true},
		"the nodes of all pools would refuse it":          {unserved(of(capacity.CodeTaint, "x"), of(capacity.CodeAffinity, "")), 0, true},
		"there is no pool":                                {capacity.Outcome{Fate: capacity.Unserved, Reason: of(capacity.CodeNoPool, "")}, 0, true},
		"a machine is ordered":                            {capacity.Outcome{Fate: capacity.Ordered}, time.Hour, false},
		"a machine is on its way":                         {capacity.Outcome{Fate: capacity.Waits}, time.Hour, false},
		"there is room":                                   {capacity.Outcome{Fate: capacity.FitsNow}, time.Hour, false},
		"a pool backs off for a moment":                   {unserved(limit, of(capacity.CodePoolBackoff, "")), time.Minute, false},
		"a pool backs off for long":                       {unserved(limit, of(capacity.CodePoolBackoff, "")), 5 * time.Minute, true},
		"a provider is not ready for a moment":            {unserved(of(capacity.CodePoolNotReady, "")), time.Minute, false},
		"machines are being made, and then there is room": {unserved(of(capacity.CodePoolLimit, "maxInFlight 1")), time.Minute, false},
		"a pod that did not take what was bought":         {capacity.Outcome{Fate: capacity.Unserved, Reason: of(capacity.CodeBought, "")}, time.Hour, false},
		"a pool's machines were not taken":                {unserved(limit, of(capacity.CodeBought, "")), time.Hour, false},
		"a pool is frozen, for however long":              {unserved(limit, of(capacity.CodePoolFrozen, "")), 24 * time.Hour, false},
		"a pod that cannot be judged":                     {capacity.Outcome{Fate: capacity.Unserved, Reason: of(capacity.CodeResourceClaims, "")}, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &capacity.Shortfall{Since: start}
			require.Equal(t, c.want, preemption.Hopeless(s, c.outcome, start.Add(c.waited)))
		})
	}
}

func TestTheLowestPriority(t *testing.T) {
	c := newCluster(t)
	require.Equal(t, int32(math.MaxInt32), preemption.Lowest(c.View()))
	c.nodes(9000, "a")
	c.pods(pod("p5", 5, 1000, on("a")), pod("agent", 1, 1000, on("a"), ownedBy("DaemonSet")), pod("p7", 7, 1000, on("a")))
	require.Equal(t, int32(5), preemption.Lowest(c.View()))
}
