package topology

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzLabels(f *testing.F) {
	f.Add("app", "web", "tier", "")
	f.Add("", "", "\x00", "a longer text than fits into a byte's length, again and again and again and again, and so on, "+
		"until it has more than one hundred and twenty-eight of them")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		m := map[string]string{a: b, c: d}
		l := LabelsOf(m)
		require.Equal(t, m, maps.Collect(l.All()))
		require.Equal(t, l, LabelsOf(maps.Clone(m)), "equal sets are equal values")
		require.Equal(t, m[a], l.Get(a))
		require.False(t, l.Has(a+c+"?") && m[a+c+"?"] == "" && a+c+"?" != a && a+c+"?" != c)
		require.Equal(t, LabelsOf(map[string]string{a: m[a]}), l.only(map[string]bool{a: true}))
	})
}

func TestNoLabels(t *testing.T) {
	require.Equal(t, Labels{}, LabelsOf(nil))
	require.False(t, Labels{}.Has("app"))
	require.Empty(t, Labels{}.Get("app"))
	require.Equal(t, Labels{}, LabelsOf(map[string]string{"app": "web"}).only(nil))
}
