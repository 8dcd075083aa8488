package lifecycle_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
)

func TestWhatASightingBecomesAfterACall(t *testing.T) {
	m := provider.Machine{ID: "vm", ClaimUID: "u"}
	seen := lifecycle.Seen(m, start)
	for name, c := range map[string]struct {
		outcome lifecycle.Outcome
		want    lifecycle.Presence
	}{
		"created":                 {lifecycle.Outcome{Verb: lifecycle.VerbCreate, Machine: m}, lifecycle.Present},
		"looked":                  {lifecycle.Outcome{Verb: lifecycle.VerbLook, Machine: m}, lifecycle.Present},
		"looked, and it is gone":  {lifecycle.Outcome{Verb: lifecycle.VerbLook, Err: provider.ErrNotFound}, lifecycle.Absent},
		"deleted, and it is gone": {lifecycle.Outcome{Verb: lifecycle.VerbDelete, Err: provider.ErrNotFound}, lifecycle.Absent},
		"deletion accepted":       {lifecycle.Outcome{Verb: lifecycle.VerbDelete}, lifecycle.Present},
		"unknown":                 {lifecycle.Outcome{Verb: lifecycle.VerbLook, Err: provider.ErrUnknown}, lifecycle.Present},
		"not created, not found":  {lifecycle.Outcome{Verb: lifecycle.VerbCreate, Err: provider.ErrNotFound}, lifecycle.Present},
		"anything else":           {lifecycle.Outcome{Verb: lifecycle.VerbDelete, Err: fmt.Errorf("boom")}, lifecycle.Present},
	} {
		require.Equal(t, c.want, seen.After(c.outcome).Presence, name)
	}
	later := lifecycle.Sighting{Presence: lifecycle.Absent, At: start.Add(1)}
	require.Equal(t, later, seen.Newest(later))
	require.Equal(t, later, later.Newest(seen))
	require.Equal(t, seen, lifecycle.Sighting{}.Newest(seen))
	require.Equal(t, seen, seen.Newest(lifecycle.Sighting{}))
}

func TestTheRequestSaysWhetherTheMachineIsKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		w := newWorld(t, nil)
		w.claim.Spec.Keep = keep
		r := lifecycle.Step(w.claim, lifecycle.Observed{}, start)
		order, ok := r.Effects[len(r.Effects)-1].(lifecycle.Create)
		for !ok {
			r = lifecycle.Step(r.Claim, lifecycle.Observed{}, start)
			order, ok = r.Effects[len(r.Effects)-1].(lifecycle.Create)
		}
		require.Equal(t, keep, order.Request.Keep)
	}
}
