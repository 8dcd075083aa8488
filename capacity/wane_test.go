package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPodsKeepOffNodesThatAreAboutToBeEmptied(t *testing.T) {
	s := newScene()
	s.nodes(makeNode("fuller", "cpu", "4"), makeNode("stays", "cpu", "4"), makeNode("empty", "cpu", "4"))
	s.pods(bound(makePod("a", "cpu", "2"), "fuller"), bound(makePod("b", "cpu", "1"), "stays"))
	nodes := []string{"fuller", "stays", "empty"}
	require.Equal(t, "fuller", s.place(makePod("p", "cpu", "500m"), nodes...).Node)
	s.Wane([]string{"fuller", "gone"})
	require.Equal(t, "stays", s.place(makePod("p", "cpu", "500m"), nodes...).Node)
	require.Equal(t, []int64{28, 75, 6}, s.Preferences(makePod("q", "cpu", "500m"), nodes, 100), "half of what it would be")
	require.Equal(t, "fuller", s.place(makePod("large", "cpu", "2"), "fuller", "empty").Node, "before an empty one")
	s.Wane(nil)
	require.Equal(t, "fuller", s.place(makePod("r", "cpu", "0"), nodes...).Node)
}
