package providertest

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
)

// stops: power off, seen off, and on again is one machine all the while.
func stops(t *testing.T, b Backend) {
	r := request("std-000", 1)
	m := boot(t, b, r)
	if b.CannotStop {
		_, err := b.stop(t.Context(), m)
		require.ErrorIs(t, err, provider.ErrRefused)
		got, err := b.Provider.Get(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, m, got, "and it was not touched")
		return
	}
	off := stop(t, b, m)
	got, err := b.Provider.Get(t.Context(), of(m.ClaimUID))
	require.NoError(t, err)
	require.Equal(t, off, got)
	again, err := b.stop(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, off, again, "it is off already")
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []provider.Machine{off}, list)
	require.Equal(t, 1, b.Count(), "it is still there")
	r.ID = m.ID
	require.Equal(t, m, boot(t, b, r), "the same in all that is told of it")
	require.Equal(t, off, stop(t, b, m), "and as often as it takes")
}

func deletesStopped(t *testing.T, b Backend) {
	m := boot(t, b, request("std-000", 1))
	if !b.CannotStop {
		m = stop(t, b, m)
	}
	gone(t, b, m)
	require.Zero(t, b.Count())
}

func stopsOthers(t *testing.T, b Backend) {
	m := boot(t, b, request("std-000", 1))
	for name, change := range impostors {
		wrong := m
		change(&wrong)
		_, err := b.stop(t.Context(), wrong)
		require.ErrorIs(t, err, provider.ErrRefused, name)
	}
	b.Advance(longEnough)
	got, err := b.Provider.Get(t.Context(), of(m.ClaimUID))
	require.NoError(t, err)
	require.Equal(t, m, got)
}

func stopsNothing(t *testing.T, b Backend) {
	_, err := b.stop(t.Context(), provider.Machine{ID: "nothing", Claim: "nobody", ClaimUID: "nobody", Attempt: 1})
	require.ErrorIs(t, err, cmp.Or(b.NoObject, provider.ErrNotFound))
	m := boot(t, b, request("std-000", 1))
	require.NoError(t, b.delete(t.Context(), m))
	_, err = b.stop(t.Context(), m)
	require.Error(t, err)
	gone(t, b, m)
	_, err = b.stop(t.Context(), m)
	require.ErrorIs(t, err, provider.ErrNotFound)
}

// stop takes a machine to where it is proven off, as a claim does.
func stop(t *testing.T, b Backend, m provider.Machine) provider.Machine {
	t.Helper()
	for range 20 {
		got, err := b.stop(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, m.ID, got.ID)
		require.Equal(t, m.ClaimUID, got.ClaimUID)
		if got.State == provider.StatePending {
			return got
		}
		require.Equal(t, provider.StateCreating, got.State, "under way")
		b.Advance(longEnough)
	}
	require.Fail(t, "the machine does not stop")
	return m
}
