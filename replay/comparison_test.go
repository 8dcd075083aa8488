package replay

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func outcome(name string, cost, wait float64) Outcome {
	return Outcome{Name: name, Summary: Summary{Machines: Machines{Cost: cost}, Wait: Wait{Mean: wait}}}
}

func TestFrontAndKnee(t *testing.T) {
	unserved := outcome("starves", 1, 1)
	unserved.Pods.Unserved = 3
	cut := outcome("cut", 1, 1)
	cut.Interrupted = true
	for name, c := range map[string]struct {
		outcomes []Outcome
		front    []string
		knee     string
	}{
		"nothing":                     {nil, []string{}, ""},
		"one":                         {[]Outcome{outcome("a", 1, 1)}, []string{"a"}, ""},
		"a beaten one is not on it":   {[]Outcome{outcome("a", 2, 2), outcome("b", 1, 1)}, []string{"b"}, ""},
		"two have no bend":            {[]Outcome{outcome("a", 2, 1), outcome("b", 1, 2)}, []string{"b", "a"}, ""},
		"equals: the first":           {[]Outcome{outcome("a", 1, 1), outcome("b", 1, 1)}, []string{"a"}, ""},
		"the bend":                    {[]Outcome{outcome("a", 1, 100), outcome("b", 2, 20), outcome("c", 3, 15), outcome("d", 10, 10)}, []string{"a", "b", "c", "d"}, "b"},
		"a bulge has no knee":         {[]Outcome{outcome("a", 1, 100), outcome("b", 9, 90), outcome("c", 10, 0)}, []string{"a", "b", "c"}, ""},
		"cheap, but serves fewer":     {[]Outcome{unserved, outcome("a", 5, 5)}, []string{"a"}, ""},
		"cheap, but was not finished": {[]Outcome{cut, outcome("a", 5, 5)}, []string{"a"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Compare(c.outcomes, WaitMean)
			require.Equal(t, c.front, got.Front)
			require.Equal(t, c.knee, got.Knee)
		})
	}
}

func TestComparisonAsText(t *testing.T) {
	c := Compare([]Outcome{outcome("a", 1, 100), outcome("b", 2, 20), outcome("c", 10, 10), outcome("lost", 11, 11)}, WaitMean)
	var out bytes.Buffer
	require.NoError(t, c.WriteText(&out))
	require.Regexp(t, `(?m) a \*$`, out.String())
	require.Regexp(t, `(?m) b \*\*$`, out.String())
	require.Regexp(t, `(?m) lost$`, out.String())
	require.Contains(t, out.String(), "the knee")
	require.NotContains(t, out.String(), "kWh", "no shape says what it draws")
}

func TestEveryWaitFigure(t *testing.T) {
	w := Wait{P50: 1, P90: 2, P99: 3, Max: 4, Mean: 5}
	var got []float64
	for _, f := range WaitFigures {
		got = append(got, f.Of(w))
	}
	require.Equal(t, []float64{5, 1, 2, 3, 4}, got)
}
