package capacity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider/gate"
)

func TestAnotherFreezeIsAChangeAndTheSameOneIsNot(t *testing.T) {
	l := capacity.NewLive(capacity.Schedulers{})
	changed, before := l.Changed(), l.Generation()
	require.False(t, l.SetFreeze(gate.ParseFreeze(nil)), "nothing was frozen before")
	require.Equal(t, before, l.Generation())
	require.Empty(t, changed)

	freeze := gate.ParseFreeze(map[string]string{"releases": "*"})
	require.True(t, l.SetFreeze(freeze))
	require.Greater(t, l.Generation(), before, "plans are made anew")
	require.Len(t, changed, 1)
	require.True(t, l.View().Freeze.Equal(freeze))

	before = l.Generation()
	require.False(t, l.SetFreeze(gate.ParseFreeze(map[string]string{"releases": "*"})))
	require.Equal(t, before, l.Generation())
}
