package topology

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// standing is a pod on a site, told apart by nothing but what rules see.
type standing struct {
	node string
	pod  *corev1.Pod
}

// Counters that were kept while pods came and went say what counters say that count afresh.
func TestCountersAreKeptAsAFreshCountWouldMakeThem(t *testing.T) {
	for seed := range uint64(25) {
		by := rand.New(rand.NewPCG(seed, 7))
		kinds := someKinds(by)
		var all []standing
		for range by.IntN(12) {
			all = append(all, standing{fmt.Sprintf("m%d", by.IntN(6)), kinds[by.IntN(len(kinds))]})
		}
		kept, sites := build(kinds, all)
		for range 30 {
			if i := by.IntN(len(all) + 1); i < len(all) && by.IntN(2) == 0 {
				kept.Kind(subjectOf2(all[i].pod)).Put(sites[all[i].node], -1)
				all = append(all[:i:i], all[i+1:]...)
			} else {
				fresh := standing{fmt.Sprintf("m%d", by.IntN(6)), kinds[by.IntN(len(kinds))]}
				kept.Kind(subjectOf2(fresh.pod)).Put(sites[fresh.node], 1)
				all = append(all, fresh)
			}
			recount, fresh := build(kinds, all)
			for _, p := range kinds[:1+by.IntN(len(kinds))] { // some are asked about early, some late
				for name := range sites {
					want, got := recount.Kind(subjectOf2(p)).Judge(fresh[name]), kept.Kind(subjectOf2(p)).Judge(sites[name])
					require.Equal(t, want.Cause, got.Cause, "seed %d, node %s", seed, name)
				}
			}
		}
	}
}

// A machine that was opened, filled, emptied and closed leaves no trace.
func TestClosedSitesLeaveNoTrace(t *testing.T) {
	p := app("web", spreading(host, 1, of("web")), spreading(zone, 1, of("web")))
	c, sites := build([]*corev1.Pod{p}, []standing{{"m0", p}})
	k := c.Kind(subjectOf2(p))
	before := map[string]Finding{}
	for name, s := range sites {
		before[name] = k.Judge(s)
	}
	profile := NewProfile(makeNode("imagined", "c"))
	for range 3 {
		first, second := c.Open(profile), c.Open(profile)
		require.Equal(t, Finding{}, k.Judge(first))
		k.Put(first, 1)
		require.Equal(t, Spread, k.Judge(first).Cause)
		require.NotEqual(t, first.domains, second.domains, "two machines are two hosts")
		k.Put(first, -1)
		c.Close(first)
		c.Close(second)
		after := map[string]Finding{}
		for name, s := range sites {
			after[name] = k.Judge(s)
		}
		require.True(t, maps.Equal(before, after))
	}
}

// A field answers, and has all other sites answer, what as many machines would with one pod each.
func TestAFieldIsAsManyMachinesAsItHasPods(t *testing.T) {
	for seed := range uint64(200) {
		by := rand.New(rand.NewPCG(seed, 9))
		kinds, profile := someKinds(by), NewProfile(makeNode("imagined", "c"))
		one, sites := build(kinds, []standing{{"m0", kinds[0]}, {"m4", kinds[1]}})
		many, others := build(kinds, []standing{{"m0", kinds[0]}, {"m4", kinds[1]}})
		for _, p := range kinds {
			one.Kind(subjectOf2(p))
			many.Kind(subjectOf2(p))
		}
		daemon, field := kinds[2], one.Field(profile)
		one.Kind(subjectOf2(daemon)).Furnish(field, 1)
		open := func() *Site {
			s := many.Open(profile)
			many.Kind(subjectOf2(daemon)).Put(s, 1)
			return s
		}
		var machines []*Site
		var on []*corev1.Pod
		for range 12 {
			if n := len(machines); n > 1 && by.IntN(3) == 0 {
				one.Kind(subjectOf2(on[n-1])).Put(field, -1)
				many.Kind(subjectOf2(on[n-1])).Put(machines[n-1], -1)
				many.Kind(subjectOf2(daemon)).Put(machines[n-1], -1)
				many.Close(machines[n-1])
				machines, on = machines[:n-1], on[:n-1]
			} else {
				p := kinds[3+by.IntN(len(kinds)-3)]
				machines, on = append(machines, open()), append(on, p)
				one.Kind(subjectOf2(p)).Put(field, 1)
				many.Kind(subjectOf2(p)).Put(machines[n], 1)
			}
			if len(one.Kind(subjectOf2(daemon)).counted) > 0 {
				continue // the domains that DaemonSet pods alone are in are not told apart
			}
			for _, p := range kinds {
				k, same := one.Kind(subjectOf2(p)), many.Kind(subjectOf2(p))
				for name := range sites {
					require.Equal(t, same.Judge(others[name]), k.Judge(sites[name]), "seed %d, node %s", seed, name)
				}
				next := open()
				require.Equal(t, same.Judge(next), k.Judge(field), "seed %d, on the field", seed)
				many.Kind(subjectOf2(daemon)).Put(next, -1)
				many.Close(next)
			}
		}
	}
}

// Most never promises more than Judge would let in, one after the other.
func TestMostIsWhatJudgeLetsIn(t *testing.T) {
	for seed := range uint64(100) {
		by := rand.New(rand.NewPCG(seed, 8))
		kinds := someKinds(by)
		c, sites := build(kinds, []standing{{"m0", kinds[0]}, {"m1", kinds[1]}})
		k := c.Kind(subjectOf2(kinds[by.IntN(len(kinds))]))
		for _, name := range []string{"m0", "m3", "m5"} {
			s := sites[name]
			if k.Judge(s).Cause != None {
				continue
			}
			for range min(k.Most(s), 20) {
				require.Equal(t, Finding{}, k.Judge(s), "seed %d", seed)
				k.Put(s, 1)
			}
		}
	}
}

var compiled = map[*corev1.Pod]Subject{}

// subjectOf2 compiles a pod once, as the core does.
func subjectOf2(p *corev1.Pod) Subject {
	if _, ok := compiled[p]; !ok {
		compiled[p] = subjectOf(p)
	}
	return compiled[p]
}

func someKinds(by *rand.Rand) []*corev1.Pod {
	names := []string{"web", "db", "cache"}
	name := func() string { return names[by.IntN(len(names))] }
	key := func() string { return []string{zone, host, zone, "absent"}[by.IntN(4)] }
	var kinds []*corev1.Pod
	for range 8 {
		p := app(name())
		for range by.IntN(3) {
			[]func(*corev1.Pod){
				spreading(key(), int32(1+by.IntN(2)), of(name())), near(key(), of(name())), apart(key(), of(name())),
			}[by.IntN(3)](p)
		}
		kinds = append(kinds, p)
	}
	return kinds
}

func build(kinds []*corev1.Pod, all []standing) (*Cluster, map[string]*Site) {
	sites := map[string]*Site{}
	c := NewCluster(nil, func(yield func(*Site, Subject) bool) {
		for _, s := range all {
			if !yield(sites[s.node], subjectOf2(s.pod)) {
				return
			}
		}
	})
	for i, z := range []string{"a", "a", "b", "b", "c", ""} {
		name := fmt.Sprintf("m%d", i)
		sites[name] = c.Add(makeNode(name, z))
	}
	for _, p := range kinds {
		c.Expect(subjectOf2(p).Rules)
	}
	return c, sites
}

// A rule that is looked at late does not count what was on a machine that is closed by then.
func TestRulesSeenLateDoNotCountOnClosedSites(t *testing.T) {
	plain, spread := app("web"), app("web", spreading(host, 1, of("web")))
	c, sites := build([]*corev1.Pod{plain, spread}, nil)
	k := c.Kind(subjectOf2(plain))
	opened := c.Open(NewProfile(makeNode("imagined", "c")))
	k.Put(opened, 1)
	k.Put(sites["m0"], 1)
	k.Put(opened, -1)
	c.Close(opened)
	late := c.Kind(subjectOf2(spread))
	require.Equal(t, Spread, late.Judge(sites["m0"]).Cause)
	require.Equal(t, None, late.Judge(sites["m1"]).Cause)
	c.Reopen(opened)
	require.Equal(t, None, late.Judge(opened).Cause)
}

// Pods that come later in the queue are not counted, those that are there already are.
func TestSpreadDoesNotCountThoseWhoComeLater(t *testing.T) {
	first, web := app("web", spreading(host, 1, of("web"))), app("web")
	c, sites := build([]*corev1.Pod{first, web}, nil)
	rank := func(p *corev1.Pod, n int32) Subject {
		s := subjectOf2(p)
		s.Rank = n
		return s
	}
	vital, later := c.Kind(rank(first, 1)), c.Kind(rank(first, 2))
	c.Kind(rank(web, 2)).Put(sites["m0"], 1)
	require.Equal(t, None, vital.Judge(sites["m0"]).Cause)
	require.Equal(t, Spread, later.Judge(sites["m0"]).Cause)
	c.Kind(rank(web, 0)).Put(sites["m1"], 1)
	require.Equal(t, Spread, vital.Judge(sites["m1"]).Cause)
	require.Equal(t, None, vital.Judge(sites["m0"]).Cause)
}
