package providertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
)

// runWire does every fault to every verb. What may not happen: a second machine, a machine forgotten, an absence or a
// refusal that the backend never stated.
func runWire(t *testing.T, factory Factory) {
	for _, fault := range Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Run("create", func(t *testing.T) { createOver(t, factory(t), fault) })
			t.Run("get", func(t *testing.T) { getOver(t, factory(t), fault) })
			t.Run("list", func(t *testing.T) { listOver(t, factory(t), fault) })
			t.Run("delete", func(t *testing.T) { deleteOver(t, factory(t), fault) })
		})
	}
}

// broken returns a context for one call that meets the fault.
func (b Backend) broken(t *testing.T, fault Fault) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	b.Wire.Break(fault, cancel)
	return ctx
}

// harmless says that the caller may not notice this fault.
func harmless(fault Fault) bool { return fault == SentTwice }

func judge(t *testing.T, fault Fault, err error) {
	t.Helper()
	if harmless(fault) {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, provider.ErrUnknown)
	for _, certain := range []error{provider.ErrNotFound, provider.ErrNoCapacity, provider.ErrRefused, provider.ErrBusy} {
		require.NotErrorIs(t, err, certain)
	}
}

func createOver(t *testing.T, b Backend, fault Fault) {
	r := request("std-000", 1)
	_, err := b.Provider.Create(b.broken(t, fault), r)
	judge(t, fault, err)
	require.LessOrEqual(t, b.Count(), 1)
	m := create(t, b, r)
	require.Equal(t, r.ClaimUID, m.ClaimUID)
	require.Equal(t, 1, b.Count(), "the machine of the first call is adopted")
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []provider.Machine{m}, list)
}

func getOver(t *testing.T, b Backend, fault Fault) {
	m := create(t, b, request("std-000", 1))
	_, err := b.Provider.Get(b.broken(t, fault), of(m.ClaimUID))
	judge(t, fault, err)
}

func listOver(t *testing.T, b Backend, fault Fault) {
	create(t, b, request("std-000", 1))
	create(t, b, request("std-001", 1))
	list, err := b.Provider.List(b.broken(t, fault))
	judge(t, fault, err)
	if err != nil {
		require.Empty(t, list, "no short list beside an error")
		return
	}
	require.Len(t, list, 2)
}

func deleteOver(t *testing.T, b Backend, fault Fault) {
	m := create(t, b, request("std-000", 1))
	other := create(t, b, request("std-001", 1))
	judge(t, fault, b.Provider.Delete(b.broken(t, fault), m))
	if err := b.Provider.Delete(t.Context(), m); err != nil {
		require.ErrorIs(t, err, provider.ErrNotFound)
	}
	b.Advance(longEnough)
	require.ErrorIs(t, b.Provider.Delete(t.Context(), m), provider.ErrNotFound)
	_, err := b.Provider.Get(t.Context(), of(other.ClaimUID))
	require.NoError(t, err, "and nothing but that machine")
	require.Equal(t, 1, b.Count())
}
