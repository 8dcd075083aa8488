package rehearsal

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
	"github.com/muster-sh/muster/capacity/topology"
	"github.com/muster-sh/muster/test/e2e/world"
)

var (
	clusters  = flag.Int("clusters", 200, "how many clusters are tried")
	first     = flag.Uint64("seed", 1, "the seed of the first; the others follow")
	shuffled  = flag.Bool("shuffled", false, "the scheduler tries pods of a priority in any order, not in that of their making")
	paused    = flag.Bool("paused", false, "the scheduler sleeps until all machines are there, also for pods that fit before")
	staggered = flag.Bool("staggered", false, "machines come one after the other, and the scheduler tries all pods in between")
	salt      = flag.Uint64("salt", 1, "of the order in which pods and machines come, where it is any")
	kinds     = flag.String("kinds", "all", "kinds of rules in them, with commas between: all, or names; -name takes one away")
)

// TestPlansAreKeptOnPaper: a plan carried out and made again buys nothing; once the machines are there every pod that was
// promised a node gets one, nothing more is bought, and no machine stays empty. A pod that gets a node beyond that, because
// the scheduler tries pods in an order of its own, breaks no promise; how many there are is logged.
func TestPlansAreKeptOnPaper(t *testing.T) {
	chosen, err := world.Parse(*kinds)
	require.NoError(t, err)
	bought, lucky := 0, 0
	for i := range uint64(*clusters) {
		t.Run(fmt.Sprintf("cluster-%d", *first+i), func(t *testing.T) {
			c := settle(t, world.New(*first+i, chosen...))
			c.staggered = *staggered
			said := c.keep(*first + i)
			bought += len(said.Creates)
			lucky += c.lucky(said)
		})
	}
	t.Logf("%d pods got a node that nobody had promised them", lucky)
	require.Greater(t, bought, *clusters, "the clusters must buy something")
}

// onceBroken are the seeds of clusters whose plans were not kept, for one reason or another, and are since: with machines that
// come at once, and with such that come one after the other.
var (
	onceBroken     = []uint64{1449, 1786, 1980, 2105, 2340, 2456, 2615, 2719, 3672, 3715, 3718, 3946}
	brokenOneByOne = []uint64{39, 53, 89}
)

func TestPlansThatWereBrokenAreKept(t *testing.T) {
	chosen, err := world.Parse("all")
	require.NoError(t, err)
	for _, seed := range onceBroken {
		t.Run(fmt.Sprintf("cluster-%d", seed), func(t *testing.T) { settle(t, world.New(seed, chosen...)).keep(seed) })
	}
	for _, seed := range brokenOneByOne {
		t.Run(fmt.Sprintf("cluster-%d-one-by-one", seed), func(t *testing.T) {
			c := settle(t, world.New(seed, chosen...))
			c.staggered = true
			c.keep(seed)
		})
	}
}

func (c *cluster) keep(seed uint64) capacity.Plan {
	said := c.plan()
	again := c.plan()
	require.Empty(c.t, claimsOf(again), "planning again buys nothing")
	for _, uid := range c.pending {
		was, is := said.Outcomes[uid], again.Outcomes[uid]
		require.Equal(c.t, was.Fate == capacity.Unserved, is.Fate == capacity.Unserved, "%s: %s, then %s", uid, was, is)
	}
	r := rand.New(rand.NewPCG(seed, *salt))
	for !*paused && c.round(r) > 0 { // who fits now is placed long before a machine is there
		c.plan()
	}
	c.come(r)
	c.scheduleAll(r)
	guests := map[string]int{}
	promised, placed := map[twins]int{}, map[twins]int{}
	var broken []string
	for _, uid := range c.pending {
		node, o := c.live.Held(uid), said.Outcomes[uid]
		if o.Fate != capacity.Unserved {
			promised[c.twins(uid)]++
		}
		if node != "" {
			placed[c.twins(uid)]++
		}
		if (o.Fate != capacity.Unserved) != (node != "") {
			broken = append(broken, fmt.Sprintf("%s is on %q: %s", uid, node, o))
		}
		guests[node]++
	}
	for of, n := range promised {
		require.GreaterOrEqual(c.t, placed[of], n, broken)
	}
	for _, x := range said.Creates {
		require.True(c.t, len(x.Pods) == 0 || guests[x.Claim.Name] > 0, "nobody uses %s", x.Claim.Name)
	}
	return said
}

// lucky counts the pods that have a node beyond those that were promised one.
func (c *cluster) lucky(said capacity.Plan) (n int) {
	for _, uid := range c.pending {
		if c.live.Held(uid) != "" {
			n++
		}
		if said.Outcomes[uid].Fate != capacity.Unserved {
			n--
		}
	}
	return n
}

func claimsOf(p capacity.Plan) []string {
	var names []string
	for _, x := range p.Creates {
		names = append(names, fmt.Sprintf("%s for %d pods", x.Claim.Name, len(x.Pods)))
	}
	return names
}

// patience is how many rounds without a pod placed end the scheduling.
const patience = 3

// scheduleAll tries the pods by falling priority, otherwise in any order, and plans between the rounds.
func (c *cluster) scheduleAll(r *rand.Rand) {
	for vain := 0; vain < patience; vain++ {
		if c.round(r) > 0 {
			vain = -1
		}
		more := c.plan()
		require.Empty(c.t, claimsOf(more), "nothing is bought but what the plan says")
		c.now = c.now.Add(10 * time.Second)
	}
}

// round tries each pod once, and counts those that got a node.
func (c *cluster) round(r *rand.Rand) int {
	order, placed := slices.Clone(c.pending), 0
	if *shuffled {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	slices.SortStableFunc(order, func(a, b types.UID) int {
		return cmp.Compare(c.live.Pod(b).Priority, c.live.Pod(a).Priority)
	})
	for _, uid := range order {
		if c.live.Held(uid) == "" && c.schedule(uid) {
			placed++
		}
	}
	return placed
}

// schedule is one attempt of the scheduler: its own filters, then the extender.
func (c *cluster) schedule(uid types.UID) bool {
	sim, pod := simulation.New(c.live.View()), c.live.Pod(uid)
	class := sim.Class(pod)
	var left []string
	for _, p := range sim.Places() {
		if sim.Company(class, p).Fits {
			left = append(left, p.Node.Name)
		}
	}
	if len(left) == 0 {
		return false
	}
	c.call++
	got, err := c.live.Place(context.Background(), capacity.Call{Number: c.call, Pod: pod, Nodes: left, Now: c.now})
	require.NoError(c.t, err)
	return got.Node != ""
}

// twins are pods that nobody can tell apart.
type twins struct {
	signature, namespace string
	labels               topology.Labels
	priority             int32
}

func (c *cluster) twins(uid types.UID) twins {
	p := c.live.Pod(uid)
	return twins{p.Ask.Signature, p.Namespace, p.Labels, p.Priority}
}
