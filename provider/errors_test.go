package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
)

func TestAnErrorIsOfOneKind(t *testing.T) {
	inner := fmt.Errorf("look: %w", provider.ErrNotFound)
	err := fmt.Errorf("get std-000: %w", &provider.Error{Op: "clone 9000", Kind: provider.ErrUnknown, Err: inner, Hint: "wait"})
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.NotErrorIs(t, err, provider.ErrNotFound, "a cause does not prove absence")
	require.Equal(t, "wait", provider.HintOf(err))
	require.Equal(t, "get std-000: clone 9000: outcome unknown: look: machine not found (wait)", err.Error())
	require.Equal(t, provider.ErrUnknown, provider.KindOf(err))
}

func TestWhatIsNoKindIsUnknown(t *testing.T) {
	require.Equal(t, provider.ErrUnknown, provider.KindOf(errors.New("oops")))
	require.Equal(t, provider.ErrUnknown, provider.KindOf(context.Canceled))
	require.NoError(t, provider.KindOf(nil))
	require.Empty(t, provider.HintOf(errors.New("oops")))
	for _, kind := range provider.Kinds {
		require.Equal(t, kind, provider.KindOf(fmt.Errorf("x: %w", kind)))
	}
}
