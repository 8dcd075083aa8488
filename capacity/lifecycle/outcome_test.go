package lifecycle_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
)

func TestAnAbsentMachineIsAFailureUnlessItWasToGo(t *testing.T) {
	absent := fmt.Errorf("machine p-000: %w", provider.ErrNotFound)
	require.False(t, lifecycle.Outcome{Verb: lifecycle.VerbDelete, Err: absent}.Failed())
	require.True(t, lifecycle.Outcome{Verb: lifecycle.VerbLook, Err: absent}.Failed())
	require.True(t, lifecycle.Outcome{Verb: lifecycle.VerbDelete, Err: provider.ErrUnknown}.Failed())
	require.False(t, lifecycle.Outcome{Verb: lifecycle.VerbCreate}.Failed())
}
