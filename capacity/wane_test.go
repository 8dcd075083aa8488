package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func TestPodsKeepOffNodesThatAreAboutToBeEmptied(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("fuller", "cpu", "4"), object.Node("stays", "cpu", "4"), object.Node("empty", "cpu", "4"))
	s.pods(object.Bound(object.Pod("a", "cpu", "2"), "fuller"), object.Bound(object.Pod("b", "cpu", "1"), "stays"))
	nodes := []string{"fuller", "stays", "empty"}
	require.Equal(t, "fuller", s.place(object.Pod("p", "cpu", "500m"), nodes...).Node)
	s.Wane([]string{"fuller", "gone"})
	require.Equal(t, "stays", s.place(object.Pod("p", "cpu", "500m"), nodes...).Node)
	require.Equal(t, []int64{28, 75, 6}, s.Preferences(object.Pod("q", "cpu", "500m"), nodes, 100), "half of what it would be")
	require.Equal(t, "fuller", s.place(object.Pod("large", "cpu", "2"), "fuller", "empty").Node, "before an empty one")
	s.Wane(nil)
	require.Equal(t, "fuller", s.place(object.Pod("r", "cpu", "0"), nodes...).Node)
}
