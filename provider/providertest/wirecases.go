package providertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
)

// mostRequests bounds how many requests one verb may send; with it the suite ends.
const mostRequests = 20

// RunWire runs the cases of the wire alone. Backends whose verbs, or whose check, send a request for each of many parts
// run it over few parts; Run includes it where a Backend has a Wire.
func RunWire(t *testing.T, factory Factory) {
	require.NotNil(t, factory(t).Wire)
	runWire(t, factory)
}

// runWire does every fault to every request of every verb. What may not happen: a second machine, a machine forgotten,
// an absence or a refusal that the backend never stated, a secret in an error.
func runWire(t *testing.T, factory Factory) {
	verbs := map[string]func(*testing.T, Backend, *broken){
		"create": createOver, "get": getOver, "list": listOver, "delete": deleteOver, "stop": stopOver, "check": checkOver,
	}
	if factory(t).CannotStop {
		delete(verbs, "stop")
	}
	for _, fault := range Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			for verb, run := range verbs {
				t.Run(verb, func(t *testing.T) { eachRequest(t, factory, fault, run) })
			}
		})
	}
}

// eachRequest breaks the first request of a verb, then the second, until the verb has no more.
func eachRequest(t *testing.T, factory Factory, fault Fault, run func(*testing.T, Backend, *broken)) {
	for skip := 0; ; skip++ {
		require.Less(t, skip, mostRequests, "requests of one call")
		w := &broken{fault: fault, skip: skip}
		run(t, factory(t), w)
		if !w.hit {
			require.Positive(t, skip, "the fault never hit a request")
			return
		}
	}
}

// broken is one call that meets a fault.
type broken struct {
	fault Fault
	skip  int
	hit   bool
}

// call makes the call and judges its error: whatever went wrong on the way, nothing is certain.
func (w *broken) call(t *testing.T, b Backend, do func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.Wire.Break(w.fault, w.skip, cancel)
	err := do(ctx)
	w.hit = b.Wire.Mend()
	if err == nil {
		return nil
	}
	require.ErrorIs(t, err, provider.ErrUnknown)
	for _, certain := range provider.Kinds {
		if certain != provider.ErrUnknown { //nolint:errorlint // the very value
			require.NotErrorIs(t, err, certain)
		}
	}
	b.discreet(t, err.Error())
	return err
}

// discreet fails if a text holds a secret of the backend.
func (b Backend) discreet(t *testing.T, text string) {
	t.Helper()
	for _, secret := range b.Secrets {
		require.NotContains(t, text, secret)
	}
}

func createOver(t *testing.T, b Backend, w *broken) {
	r := request("std-000", 1)
	err := w.call(t, b, func(ctx context.Context) error { _, err := b.order(ctx, r); return err })
	require.LessOrEqual(t, b.Count(), 1, "%v", err)
	m := create(t, b, r)
	require.Equal(t, r.ClaimUID, m.ClaimUID)
	require.Equal(t, 1, b.Count(), "the machine of the first call is adopted")
	list, err := b.Provider.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []provider.Machine{m}, list)
	boot(t, b, r)
	require.Equal(t, 1, b.Count())
}

func getOver(t *testing.T, b Backend, w *broken) {
	m := create(t, b, request("std-000", 1))
	var got provider.Machine
	if w.call(t, b, func(ctx context.Context) (err error) { got, err = b.Provider.Get(ctx, of(m.ClaimUID)); return err }) == nil {
		require.Equal(t, m, got)
	}
}

func listOver(t *testing.T, b Backend, w *broken) {
	create(t, b, request("std-000", 1))
	create(t, b, request("std-001", 1))
	var list []provider.Machine
	err := w.call(t, b, func(ctx context.Context) (err error) { list, err = b.Provider.List(ctx); return err })
	if err != nil {
		require.Empty(t, list, "no short list beside an error")
		return
	}
	require.Len(t, list, 2)
}

func deleteOver(t *testing.T, b Backend, w *broken) {
	m := boot(t, b, request("std-000", 1))
	other := create(t, b, request("std-001", 1))
	_ = w.call(t, b, func(ctx context.Context) error { return b.delete(ctx, m) })
	gone(t, b, m)
	_, err := b.Provider.Get(t.Context(), of(other.ClaimUID))
	require.NoError(t, err, "and nothing but that machine")
	require.Equal(t, 1, b.Count())
}

// stopOver: whether the call was carried out is not known; called again it is off once, and starts again.
func stopOver(t *testing.T, b Backend, w *broken) {
	r := request("std-000", 1)
	m := boot(t, b, r)
	other := boot(t, b, request("std-001", 1))
	_ = w.call(t, b, func(ctx context.Context) error { _, err := b.stop(ctx, m); return err })
	stop(t, b, m)
	r.ID = m.ID
	require.Equal(t, m, boot(t, b, r))
	got, err := b.Provider.Get(t.Context(), of(other.ClaimUID))
	require.NoError(t, err)
	require.Equal(t, other, got, "and nothing but that machine")
	require.Equal(t, 2, b.Count())
}

// checkOver: a check has no error; that something is wrong must be among its findings, or have been survived.
func checkOver(t *testing.T, b Backend, w *broken) {
	_ = w.call(t, b, func(ctx context.Context) error {
		findings := b.Provider.Check(ctx)
		require.NotEmpty(t, findings)
		for _, f := range findings {
			b.discreet(t, f.Subject+f.Message+f.Hint)
		}
		return nil
	})
}
