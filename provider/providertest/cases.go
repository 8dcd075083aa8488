package providertest

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
)

func create(t *testing.T, b Backend, r provider.Request) provider.Machine {
	t.Helper()
	m, err := b.order(t.Context(), r)
	require.NoError(t, err)
	return m
}

// order creates as a claim does: with the ID that it wrote down.
func (b Backend) order(ctx context.Context, r provider.Request) (provider.Machine, error) {
	m, err := b.Provider.Create(ctx, r)
	if err != nil || m.State != provider.StateReserved {
		return m, err
	}
	r.ID = m.ID
	m, err = b.Provider.Create(ctx, r)
	if err == nil && m.State == provider.StateReserved {
		err = fmt.Errorf("machine %s is reserved for good: %w", m.ID, provider.ErrRefused)
	}
	return m, err
}

func createTwice(t *testing.T, b Backend) {
	r := request("std-000", 1)
	first := create(t, b, r)
	require.Equal(t, first, create(t, b, r))
	b.Advance(longEnough)
	require.Equal(t, first.ID, create(t, b, r).ID, "also when it runs already")
	require.Equal(t, 1, b.Count())
}

func found(t *testing.T, b Backend) {
	r := request("std-000", 1)
	m := create(t, b, r)
	require.NotEmpty(t, m.ID)
	require.Equal(t, r.Claim, m.Claim)
	require.Equal(t, r.ClaimUID, m.ClaimUID)
	require.Equal(t, r.Attempt, m.Attempt)
	got, err := b.Provider.Get(t.Context(), of(r.ClaimUID))
	require.NoError(t, err)
	require.Equal(t, m, got)
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []provider.Machine{m}, list)
}

// whose: the mark on a machine names the cluster that asked for it, whatever became of it; two clusters that share a
// backend know each other's machines by it.
func whose(t *testing.T, b Backend) {
	own := boot(t, b, request("std-000", 1))
	r := request("std-001", 1)
	r.Cluster = "4c1d0f7e-0000-4000-8000-00000000000b"
	other := boot(t, b, r)
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	for _, m := range list {
		got, err := b.Provider.Get(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, m.Cluster, got.Cluster)
		if m.ClaimUID == other.ClaimUID {
			require.Equal(t, r.Cluster, m.Cluster)
		} else {
			require.Equal(t, cluster, m.Cluster)
		}
	}
	require.NoError(t, b.delete(t.Context(), own))
	if got, err := b.Provider.Get(t.Context(), own); err == nil {
		require.Equal(t, cluster, got.Cluster, "also on its way out")
	}
}

func neverMade(t *testing.T, b Backend) {
	_, err := b.Provider.Get(t.Context(), of("nobody"))
	require.ErrorIs(t, err, provider.ErrNotFound)
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	err = b.delete(t.Context(), provider.Machine{ID: "nothing", Claim: "nobody", ClaimUID: "nobody", Attempt: 1})
	require.ErrorIs(t, err, cmp.Or(b.NoObject, provider.ErrNotFound))
}

func runs(t *testing.T, b Backend) {
	m := boot(t, b, request("std-000", 1))
	require.NotEmpty(t, m.ProviderID+m.SystemUUID+m.NodeName, "something must tell its node")
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []provider.Machine{m}, list)
}

func deletes(t *testing.T, b Backend) {
	r := request("std-000", 1)
	m := boot(t, b, r)
	require.NoError(t, b.delete(t.Context(), m))
	if got, err := b.Provider.Get(t.Context(), m); err == nil {
		require.Equal(t, provider.StateDeleting, got.State)
		require.Equal(t, 1, b.Count(), "what it still says is there is there")
		_, err = b.order(t.Context(), r)
		require.ErrorIs(t, err, provider.ErrBusy)
	}
	gone(t, b, m)
	require.ErrorIs(t, b.delete(t.Context(), m), provider.ErrNotFound)
	require.Zero(t, b.Count())
}

func deletesHalf(t *testing.T, b Backend) {
	m := create(t, b, request("std-000", 1))
	gone(t, b, m)
	require.Zero(t, b.Count())
}

func nextAttempt(t *testing.T, b Backend) {
	first := create(t, b, request("std-000", 1))
	_, err := b.order(t.Context(), request("std-000", 2))
	require.Error(t, err, "one claim, one machine")
	require.Equal(t, 1, b.Count())
	gone(t, b, first)
	second := create(t, b, request("std-000", 2))
	require.Equal(t, int32(2), second.Attempt)
	got, err := b.Provider.Get(t.Context(), of(uidOf("std-000")))
	require.NoError(t, err)
	require.Equal(t, second.Attempt, got.Attempt)
	require.Equal(t, 1, b.Count())
}

func attemptOver(t *testing.T, b Backend) {
	second := create(t, b, request("std-000", 2))
	_, err := b.order(t.Context(), request("std-000", 1))
	require.Error(t, err)
	got, err := b.Provider.Get(t.Context(), of(uidOf("std-000")))
	require.NoError(t, err)
	require.Equal(t, second, got)
	require.Equal(t, 1, b.Count())
}

// impostors change what a machine is known by: none of them may pass for the machine.
var impostors = map[string]func(*provider.Machine){
	"another claim's UID": func(m *provider.Machine) { m.ClaimUID = uidOf("std-001") },
	"no claim UID":        func(m *provider.Machine) { m.ClaimUID = "" },
	"another ID":          func(m *provider.Machine) { m.ID = "something-else" },
	"half a UID":          func(m *provider.Machine) { m.ClaimUID = m.ClaimUID[:8] },
}

func wrongIdentity(t *testing.T, b Backend) {
	m := create(t, b, request("std-000", 1))
	for name, change := range impostors {
		wrong := m
		change(&wrong)
		require.ErrorIs(t, b.delete(t.Context(), wrong), provider.ErrRefused, name)
	}
	got, err := b.Provider.Get(t.Context(), of(m.ClaimUID))
	require.NoError(t, err)
	require.NotEqual(t, provider.StateDeleting, got.State)
}

func foreign(t *testing.T, b Backend, kind string) {
	id, untouched := b.Foreign[kind]()
	m := create(t, b, request("std-000", 1))
	before := b.Count()
	err := b.delete(t.Context(), provider.Machine{ID: id, Claim: "std-001", ClaimUID: uidOf("std-001"), Attempt: 1})
	require.ErrorIs(t, err, provider.ErrRefused)
	stolen := m
	stolen.ID = id
	require.ErrorIs(t, b.delete(t.Context(), stolen), provider.ErrRefused, "the right claim does not make it ours")
	for _, wrong := range []provider.Machine{stolen, {ID: id, Claim: "std-001", ClaimUID: uidOf("std-001"), Attempt: 1}} {
		_, err = b.stop(t.Context(), wrong)
		require.ErrorIs(t, err, provider.ErrRefused)
	}
	b.Advance(longEnough)
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	for _, listed := range list {
		require.Equal(t, listed.ID == m.ID, listed.ClaimUID == m.ClaimUID, "is not listed as the claim's")
	}
	gone(t, b, m)
	require.True(t, untouched())
	require.Equal(t, before-1, b.Count())
}

func blind(t *testing.T, b Backend) {
	m := boot(t, b, request("std-000", 1))
	b.Blind()
	_, err := b.Provider.List(t.Context())
	notCertain(t, err)
	_, err = b.Provider.Get(t.Context(), of(m.ClaimUID))
	notCertain(t, err)
	_, err = b.stop(t.Context(), m)
	notCertain(t, err)
	require.NotErrorIs(t, b.delete(t.Context(), m), provider.ErrNotFound)
	require.Equal(t, 1, b.Count())
}

func notCertain(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotErrorIs(t, err, provider.ErrNotFound)
}

func rotated(t *testing.T, b Backend) {
	m := boot(t, b, request("std-000", 1))
	b.Rotate()
	got, err := b.Provider.Get(t.Context(), of(m.ClaimUID))
	require.NoError(t, err)
	require.Equal(t, m.ID, got.ID)
	b.Rotate()
	create(t, b, request("std-001", 1))
	b.Rotate()
	gone(t, b, m)
	require.Equal(t, 1, b.Count())
	if b.Log != nil {
		b.discreet(t, b.Log())
	}
}

// boot takes a machine to where it runs, as a claim does.
func boot(t *testing.T, b Backend, r provider.Request) provider.Machine {
	t.Helper()
	m := create(t, b, r)
	for range 20 {
		b.Advance(longEnough)
		got, err := b.Provider.Get(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, m.ID, got.ID)
		switch got.State {
		case provider.StateRunning:
			return got
		case provider.StatePending:
			r.ID = m.ID
			create(t, b, r)
		}
	}
	require.Fail(t, "the machine does not come to run")
	return m
}

// gone deletes a machine until absence is proven, as a claim does.
func gone(t *testing.T, b Backend, m provider.Machine) {
	t.Helper()
	for range 20 {
		err := b.delete(t.Context(), m)
		if err != nil {
			require.ErrorIs(t, err, provider.ErrNotFound)
			_, err = b.Provider.Get(t.Context(), of(m.ClaimUID))
			require.ErrorIs(t, err, provider.ErrNotFound)
			return
		}
		b.Advance(longEnough)
	}
	require.Fail(t, "the machine does not go")
}

func sameName(t *testing.T, b Backend) {
	old := create(t, b, request("std-000", 1))
	r := request("std-000", 1)
	r.ClaimUID = uidOf("std-000-made-again")
	m, err := b.order(t.Context(), r)
	if err == nil {
		require.Equal(t, r.ClaimUID, m.ClaimUID, "a machine of its own, or none")
		require.NotEqual(t, old.ID, m.ID)
	} else {
		_, err = b.Provider.Get(t.Context(), of(r.ClaimUID))
		require.ErrorIs(t, err, provider.ErrNotFound)
	}
	imposter := old
	imposter.ClaimUID = r.ClaimUID
	require.ErrorIs(t, b.delete(t.Context(), imposter), provider.ErrRefused)
	got, err := b.Provider.Get(t.Context(), of(old.ClaimUID))
	require.NoError(t, err)
	require.Equal(t, old, got)
}

func cancelled(t *testing.T, b Backend) {
	m := create(t, b, request("std-000", 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Provider.Create(ctx, request("std-001", 1))
	require.ErrorIs(t, err, provider.ErrUnknown)
	_, err = b.Provider.Get(ctx, of(m.ClaimUID))
	require.ErrorIs(t, err, provider.ErrUnknown)
	_, err = b.Provider.List(ctx)
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.ErrorIs(t, b.delete(ctx, m), provider.ErrUnknown)
	_, err = b.stop(ctx, m)
	require.ErrorIs(t, err, provider.ErrUnknown)
	create(t, b, request("std-001", 1))
	require.Equal(t, 2, b.Count())
}

func concurrent(t *testing.T, b Backend) {
	const claims, callers = 20, 4
	ids := make([][callers]provider.ID, claims)
	var all sync.WaitGroup
	for claim := range claims {
		for caller := range callers {
			all.Go(func() {
				m, err := b.order(t.Context(), request(fmt.Sprintf("std-%03d", claim), 1))
				if err == nil {
					ids[claim][caller] = m.ID
				}
				_, _ = b.Provider.List(t.Context())
			})
		}
	}
	all.Wait()
	require.Equal(t, claims, b.Count())
	for claim, answers := range ids {
		for _, id := range answers {
			require.Equal(t, answers[0], id, "claim %d", claim)
		}
	}
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, claims)
}
