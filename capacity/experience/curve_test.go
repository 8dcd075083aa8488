package experience

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACurveFindsWhatItSays(t *testing.T) {
	c := curve{}.with(100, 70).with(300, 250).with(300, 240).with(0, 5)
	require.Equal(t, curve{{100, 70}, {300, 240}}, c)
	for has := int64(1); has < 1000; has++ {
		offers := c.at(has)
		need := c.holding(offers)
		require.LessOrEqual(t, need, has+1)
		require.GreaterOrEqual(t, c.at(need), offers-1)
	}
	require.EqualValues(t, 300, c.holding(240))
	require.EqualValues(t, 55, curve(nil).at(55))
	require.EqualValues(t, 55, curve(nil).holding(55))
}
