package housekeeping_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/provider"
)

const own = types.UID("this cluster")

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func machine(id, claim string, cluster types.UID) provider.Machine {
	return provider.Machine{ID: provider.ID(id), ClaimUID: types.UID(claim), Cluster: cluster, State: provider.StateRunning}
}

func claims(uids ...string) (out []*v1alpha1.NodeClaim) {
	for _, uid := range uids {
		out = append(out, &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)}})
	}
	return out
}

// TestWhatBecomesOfAMachineWithoutAClaim looks twice at one machine, the second time so much later.
func TestWhatBecomesOfAMachineWithoutAClaim(t *testing.T) {
	kept := machine("1", "", own)
	kept.State = provider.StateKept
	oldKept := kept
	oldKept.Cluster = ""
	for name, c := range map[string]struct {
		first, second provider.Machine
		claims        []*v1alpha1.NodeClaim
		later         time.Duration
		want          housekeeping.Standing // empty: nothing is said of it
	}{
		"seen twice, far enough apart":       {machine("1", "a", own), machine("1", "a", own), nil, housekeeping.Grace, housekeeping.Orphaned},
		"seen twice, a moment apart":         {machine("1", "a", own), machine("1", "a", own), nil, housekeeping.Grace - 1, housekeeping.Suspected},
		"has a claim":                        {machine("1", "a", own), machine("1", "a", own), claims("b", "a"), time.Hour, ""},
		"another machine has its ID by now":  {machine("1", "a", own), machine("1", "b", own), nil, time.Hour, housekeeping.Suspected},
		"belongs to another cluster":         {machine("1", "a", "that cluster"), machine("1", "a", "that cluster"), nil, time.Hour, ""},
		"does not say whose it is":           {machine("1", "a", ""), machine("1", "a", ""), nil, time.Hour, housekeeping.Unidentified},
		"of ours, and does not name a claim": {machine("1", "", own), machine("1", "", own), nil, time.Hour, housekeeping.Unidentified},
		"kept for the next claim":            {kept, kept, nil, time.Hour, ""},
		"kept by nobody knows which cluster": {oldKept, oldKept, nil, time.Hour, housekeeping.Unidentified},
	} {
		t.Run(name, func(t *testing.T) {
			first := housekeeping.Listing{Machines: []provider.Machine{c.first}, Claims: c.claims, Began: start}
			second := housekeeping.Listing{Machines: []provider.Machine{c.second}, Claims: c.claims, Began: start.Add(c.later)}
			suspects := housekeeping.Suspects{}.Follow(first, own)
			for _, o := range suspects.Judge(first, own) {
				require.NotEqual(t, housekeeping.Orphaned, o.Standing, "one listing is a suspicion")
			}
			var got housekeeping.Standing
			for _, o := range suspects.Follow(second, own).Judge(second, own) {
				got = o.Standing
			}
			require.Equal(t, c.want, got)
		})
	}
}

// A machine that was handed over to the user has no claim for good, and is no orphan.
func TestAMachineThatWasHandedOverIsNoSuspect(t *testing.T) {
	kept := func(claim types.UID) bool { return claim == "a" || claim == "" }
	l := housekeeping.Listing{Machines: []provider.Machine{machine("1", "a", own), machine("2", "b", own), machine("3", "", own)}, Kept: kept, Began: start}
	s := housekeeping.Suspects{}.Follow(l, own)
	l.Began = start.Add(time.Hour)
	found := s.Follow(l, own).Judge(l, own)
	require.Len(t, found, 2)
	require.EqualValues(t, "2", found[0].ID)
	require.EqualValues(t, "3", found[1].ID, "one that names no claim was handed over by nobody")
}

func TestAListingWithoutTheMachineEndsTheSuspicion(t *testing.T) {
	l := housekeeping.Listing{Machines: []provider.Machine{machine("1", "a", own)}, Began: start}
	s := housekeeping.Suspects{}.Follow(l, own)
	s = s.Follow(housekeeping.Listing{Began: start.Add(time.Minute)}, own)
	l.Began = start.Add(2 * time.Minute)
	s = s.Follow(l, own)
	require.Equal(t, housekeeping.Suspected, s.Judge(l, own)[0].Standing)
}

func TestWhoDoesNotKnowItsOwnClusterRemovesNothing(t *testing.T) {
	l := housekeeping.Listing{Machines: []provider.Machine{machine("1", "a", own), machine("2", "b", "")}, Began: start}
	s := housekeeping.Suspects{}.Follow(l, "")
	l.Began = start.Add(time.Hour)
	for _, o := range s.Follow(l, "").Judge(l, "") {
		require.Equal(t, housekeeping.Unidentified, o.Standing)
	}
}

// Whatever the listings are: what is called an orphan is ours, has no claim, and was in two listings that are Grace apart
// and in every one between them.
func TestOrphansAreProvenByListings(t *testing.T) {
	found := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, now := housekeeping.Suspects{}, start
		unbroken := map[housekeeping.Key]time.Time{}
		for range 12 {
			now = now.Add(time.Duration(r.IntN(40)) * time.Second)
			l := housekeeping.Listing{Began: now}
			for i := range 6 {
				if r.IntN(6) > 0 {
					cluster := []types.UID{own, own, own, "other", ""}[(i+int(seed))%5]
					l.Machines = append(l.Machines, machine(fmt.Sprint(i), fmt.Sprint("c", i), cluster))
				}
				if r.IntN(8) == 0 {
					l.Claims = append(l.Claims, claims(fmt.Sprint("c", i))...)
				}
			}
			r.Shuffle(len(l.Machines), func(a, b int) { l.Machines[a], l.Machines[b] = l.Machines[b], l.Machines[a] })
			still := map[housekeeping.Key]time.Time{}
			for _, m := range l.Machines {
				key := housekeeping.KeyOf(m)
				claimed := false
				for _, c := range l.Claims {
					claimed = claimed || c.UID == m.ClaimUID
				}
				if claimed || m.Cluster != own {
					continue
				}
				if still[key] = now; !unbroken[key].IsZero() {
					still[key] = unbroken[key]
				}
			}
			unbroken = still
			s = s.Follow(l, own)
			for _, o := range s.Judge(l, own) {
				since, ours := unbroken[housekeeping.KeyOf(o.Machine)]
				proven := ours && now.Sub(since) >= housekeeping.Grace
				require.Equal(t, proven, o.Standing == housekeeping.Orphaned, "seed %d: %+v", seed, o)
				if proven {
					found++
				}
			}
		}
	}
	require.Greater(t, found, 100)
}
