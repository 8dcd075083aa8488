package capacity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity/internal/object"
)

// check compares all that Live counts with a count from the start.
func (h *history) check() {
	t, l, m := h.t, h.live, h.model
	defer func() {
		if t.Failed() {
			t.Log("history:\n" + strings.Join(h.log, "\n"))
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Equal(t, len(m.nodes), l.present)
	require.Equal(t, len(m.pods), len(l.pods))
	for uid, hold := range m.holds {
		require.NotNil(t, l.holds[uid], "hold of %s", uid)
		require.Equal(t, hold.node, l.holds[uid].node)
		require.Equal(t, hold.nominated, l.holds[uid].nominated)
	}
	require.Equal(t, len(m.holds), len(l.holds))
	require.Equal(t, slices.Sorted(maps.Keys(m.short)), slices.Sorted(maps.Keys(l.ledger.byPod)), "shortfalls")
	for _, name := range h.nodes {
		h.checkNode(name)
	}
	h.checkRefusals()
	h.checkOpinions()
}

func (h *history) checkNode(name string) {
	t, m, e := h.t, h.model, h.live.nodes[name]
	used, held, n := m.used(name), m.held(name), m.nodes[name]
	if e == nil {
		require.True(t, n == nil && used.IsZero() && held.IsZero(), "%s is missing", name)
		return
	}
	require.Equal(t, used, e.Used, "used on %s", name)
	require.Equal(t, held, e.Held, "held on %s", name)
	require.Equal(t, m.owners(name), e.owners, "owners on %s", name)
	require.Equal(t, m.guests(name), e.guests, "guests on %s", name)
	require.Equal(t, len(m.boundTo(name)), len(e.pods))
	if n == nil {
		require.Nil(t, e.Object)
		return
	}
	claim := ""
	if c := m.claimOf(n); c != nil {
		claim = c.Name
	}
	require.Equal(t, claim, e.Claim, "claim of %s", name)
	require.Equal(t, m.stage(n), e.Stage, "stage of %s", name)
	require.Equal(t, m.daemonRoom(n), e.Daemons, "daemons on %s", name)
	require.Equal(t, m.reserved(n), e.Reserved, "reserved on %s", name)
}

// checkRefusals judges every remembered refusal again.
func (h *history) checkRefusals() {
	l := h.live
	for signature, r := range l.refusals.bySignature {
		ask, ok := l.asks.bySignature.Peek(signature)
		if !ok || r.answers != l.answers {
			continue
		}
		fresh := make([]opinion, l.seats.made)
		for name, e := range l.nodes {
			offered := r.reasons[e.seat] != Reason{}
			if offered {
				_, why := l.judge(&Pod{UID: "nobody", Ask: ask}, e, fresh, keeper{})
				require.Equal(h.t, why, r.reasons[e.seat], "remembered for %s", name)
			}
			if h.model.nodes[name] != nil {
				require.NotEqual(h.t, offered, r.missing.Has(name), "missing %s", name)
			}
		}
	}
}

// checkOpinions forms every remembered opinion again.
func (h *history) checkOpinions() {
	l := h.live
	for signature, table := range l.opinions.bySignature {
		ask, ok := l.asks.bySignature.Peek(signature)
		for name, e := range l.nodes {
			require.Equal(h.t, e.vacancy(), e.left, "free on %s", name)
			if ok && e.Object != nil && e.seat < len(table) && table[e.seat].revision == e.revision {
				require.Equal(h.t, newOpinion(ask, e), table[e.seat], "opinion of %s", name)
			}
		}
	}
}

func TestLiveCountsWhatAFreshCountWould(t *testing.T) {
	seeds, steps := 80, 200
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, random(uint64(seed)))
			var views []*View
			var dumps []string
			for i := range steps {
				h.step()
				if i%25 == 0 {
					v := h.live.View()
					requireSorted(t, v)
					h.checkView(v)
					views, dumps = append(views, v), append(dumps, dump(v))
				}
			}
			for i, v := range views {
				require.Equal(t, dumps[i], dump(v), "a View is never changed")
			}
		})
	}
}

func (h *history) checkView(v *View) {
	t, m := h.t, h.model
	require.Len(t, v.Nodes, len(m.nodes))
	for _, n := range v.Nodes {
		e := h.live.nodes[n.Name]
		shown := e.Node
		shown.Reserved = m.reservedByClaim(m.nodes[n.Name])
		require.Equal(t, shown, *n)
		require.Equal(t, len(e.holds), v.HeldOn[n.Name])
		require.Len(t, v.Pods[n.Name], len(m.boundTo(n.Name)))
		for _, p := range v.Pods[n.Name] {
			require.Same(t, h.live.pods[p.UID], p)
		}
	}
	require.Len(t, v.Claims, len(m.claims))
	require.Len(t, v.Shortfalls, len(m.short))
	for name, pods := range v.Reserved {
		for _, p := range pods {
			require.True(t, m.keeps(m.claims[name], p.UID) && !m.ousted(p.UID))
		}
	}
	for uid := range m.pods {
		if keeper := m.keeper(uid); keeper != nil && m.keeps(keeper, uid) && !m.ousted(uid) {
			require.Contains(t, v.Reserved[keeper.Name], h.live.pods[uid])
		}
	}
}

// dump writes all of a View that a decision may read.
func dump(v *View) string {
	var b strings.Builder
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "node %s %s %s %v %v %v %v %v %v %v seen %v held %d\n", n.Name, n.Pool, n.Claim, n.Stage, n.Object.Spec,
			n.Allocatable, n.Used, n.Held, n.Daemons, n.Reserved, v.Seen[n.Name], v.HeldOn[n.Name])
		for _, p := range v.Pods[n.Name] {
			fmt.Fprintf(&b, "  pod %s %v %v\n", p.UID, p.Usage, p.Terminating)
		}
	}
	for _, c := range v.Claims {
		fmt.Fprintf(&b, "claim %s %s on %v reserved", c.Object.Name, c.Object.Status.State, *c.Node)
		for _, p := range v.Reserved[c.Object.Name] {
			fmt.Fprintf(&b, " %s", p.UID)
		}
		fmt.Fprintln(&b)
	}
	for _, s := range v.Shortfalls {
		fmt.Fprintf(&b, "short %s since %v %v refused %v until %v\n", s.Pod.UID, s.Since, s.Reason, slices.Sorted(maps.Keys(s.Refused)), s.RefusedUntil)
	}
	for _, d := range v.Daemons {
		fmt.Fprintf(&b, "daemon %s %v\n", d.Name, d.Ask.Requests)
	}
	fmt.Fprintf(&b, "classes %v pools %d providers %d\n", v.Classes, len(v.Pools), len(v.Providers))
	return b.String()
}

func requireSorted(t *testing.T, v *View) {
	t.Helper()
	require.True(t, sort.SliceIsSorted(v.Nodes, func(i, j int) bool { return v.Nodes[i].Name < v.Nodes[j].Name }))
	require.True(t, sort.SliceIsSorted(v.Claims, func(i, j int) bool { return v.Claims[i].Object.Name < v.Claims[j].Object.Name }))
	require.True(t, sort.SliceIsSorted(v.Daemons, func(i, j int) bool { return v.Daemons[i].Name < v.Daemons[j].Name }))
	byKey := func(pods []*Pod) func(i, j int) bool {
		return func(i, j int) bool { return pods[i].Name < pods[j].Name }
	}
	for _, pods := range v.Pods {
		require.True(t, sort.SliceIsSorted(pods, byKey(pods)))
	}
	for _, pods := range v.Reserved {
		require.True(t, sort.SliceIsSorted(pods, byKey(pods)))
	}
}

// Informers deliver kinds in any order.
func TestTheOrderOfConstructionDoesNotMatter(t *testing.T) {
	for seed := range 30 {
		h := newHistory(t, random(uint64(1000+seed)))
		for range 120 {
			h.step()
		}
		build := func(order *rand.Rand) string {
			l, m := makeLive(), h.model
			var events []func()
			for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
				events = append(events, func() { l.SetNode(m.nodes[name], object.Start) })
			}
			for _, uid := range slices.Sorted(maps.Keys(m.pods)) {
				events = append(events, func() { l.SetPod(m.pods[uid], object.Start) })
			}
			for _, name := range slices.Sorted(maps.Keys(m.claims)) {
				events = append(events, func() { l.SetClaim(m.claims[name]) })
			}
			for _, uid := range slices.Sorted(maps.Keys(m.daemons)) {
				events = append(events, func() { l.SetDaemonSet(m.daemons[uid]) })
			}
			order.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			for _, event := range events {
				event()
			}
			return dump(l.View())
		}
		want := build(random(0))
		for order := range 5 {
			require.Equal(t, want, build(random(uint64(order+1))), "seed %d", seed)
		}
	}
}
