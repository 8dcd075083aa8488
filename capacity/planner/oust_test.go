package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// Two pods of a line are in zone b and one in zone a, as their spread wants it. The important pod takes the room in zone
// a: one of those in zone b may not be there then, and goes too, though nobody takes its room.
func TestWhoCannotStayWithoutTheOustedGoesToo(t *testing.T) {
	w := newWorld()
	for _, line := range []string{
		"pool a max=1 label=zone:a shape=s,cpu:4,memory:8Gi",
		"pool b max=1 label=zone:b shape=s,cpu:8,memory:8Gi",
		"pods even n=3 cpu=3 memory=1Gi spread=zone",
		"pods vital cpu=3 memory=1Gi priority=10 select=zone:a",
	} {
		w.add(t, line)
	}
	p := newPlanner(w.view(0, object.Start), object.Start)
	vital := p.batches[0]
	waits := vital.pods
	vital.pods = nil
	p.arrive()
	p.buy()
	p.raise()
	require.Len(t, p.plan.Outcomes, 3, "all of them are served as long as nobody more important comes")

	vital.pods = waits
	require.True(t, p.rank())
	require.Equal(t, "a-000", p.plan.Outcomes["vital-0"].Claim)
	carried := map[string]int{}
	for _, o := range p.plan.Outcomes {
		carried[o.Claim]++
	}
	require.Equal(t, map[string]int{"a-000": 1, "b-000": 1}, carried)
	require.True(t, p.left())
}

// Two pods that keep the important one out of their zone are on a machine each: it takes the room of one, and both go.
func TestThoseOnOtherMachinesMakeWayToo(t *testing.T) {
	w := newWorld()
	for _, line := range []string{
		"pool a max=2 label=zone:a shape=s,cpu:4,memory:8Gi",
		"pods shy n=2 cpu=3 memory=1Gi alone=zone:vital",
		"pods vital cpu=3 memory=1Gi priority=10",
	} {
		w.add(t, line)
	}
	p := newPlanner(w.view(0, object.Start), object.Start)
	vital := p.batches[0]
	waits := vital.pods
	vital.pods = nil
	p.arrive()
	p.buy()
	require.Len(t, p.plan.Outcomes, 2)

	vital.pods = waits
	require.True(t, p.rank())
	require.Equal(t, capacity.Ordered, p.plan.Outcomes["vital-0"].Fate)
	require.Len(t, p.plan.Outcomes, 1, "neither may be in that zone any more")
}
