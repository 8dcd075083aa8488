package world

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASeedDecidesEverything(t *testing.T) {
	require.Equal(t, New(7, All()...), New(7, All()...))
	require.NotEqual(t, New(7, All()...).Pending, New(8, All()...).Pending)
}

func TestAKindThatIsLeftOutChangesNothingElse(t *testing.T) {
	without, err := Parse("all,-spread")
	require.NoError(t, err)
	for seed := range uint64(50) {
		whole, rest := New(seed, All()...), New(seed, without...)
		require.Equal(t, whole.Pools, rest.Pools)
		require.Equal(t, whole.Nodes, rest.Nodes)
		require.Equal(t, whole.Bound, rest.Bound)
		require.Equal(t, whole.Storage, rest.Storage)
		require.Len(t, rest.Pending, len(whole.Pending))
		for i, p := range whole.Pending {
			p.Spec.TopologySpreadConstraints, rest.Pending[i].Spec.TopologySpreadConstraints = nil, nil
			require.Equal(t, p, rest.Pending[i])
		}
	}
}

func TestEveryKindIsInSomeOfAFewWorlds(t *testing.T) {
	for _, kind := range All() {
		rest := slices.DeleteFunc(All(), func(k Kind) bool { return k == kind })
		differs := 0
		for seed := range uint64(20) {
			if !slices.Equal(texts(New(seed, All()...)), texts(New(seed, rest...))) {
				differs++
			}
		}
		require.Greater(t, differs, 5, kind)
	}
}

func TestNamesOfKindsAreRead(t *testing.T) {
	got, err := Parse("labels,taints")
	require.NoError(t, err)
	require.Equal(t, []Kind{Labels, Taints}, got)
	got, err = Parse("all,-volumes,-gates")
	require.NoError(t, err)
	require.Len(t, got, len(All())-2)
	_, err = Parse("rainbows")
	require.ErrorContains(t, err, "rainbows")
}

// texts are all objects as JSON.
func texts(w *World) []string {
	var out []string
	add := func(o any) {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		out = append(out, string(text))
	}
	add(w.Pools)
	add(w.Nodes)
	add(w.Bound)
	add(w.Daemons)
	add(w.Storage)
	add(w.Pending)
	return out
}
