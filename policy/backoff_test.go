package policy

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackoffDoublesUpToTheMost(t *testing.T) {
	b := Backoff{First: time.Second, Most: time.Minute}
	require.Zero(t, b.Wait(0, "a"))
	require.Equal(t, time.Second, b.Wait(1, "a"))
	for n := 2; n < 100; n++ {
		full := min(time.Second<<min(n-1, 6), time.Minute)
		require.LessOrEqual(t, b.Wait(n, "a"), full)
		require.GreaterOrEqual(t, b.Wait(n, "a"), full*3/4)
	}
}

func TestBackoffJitterDependsOnTheKeyOnly(t *testing.T) {
	b := Backoff{First: time.Second, Most: time.Minute}
	seen := map[time.Duration]bool{}
	for i := range 50 {
		key := fmt.Sprint("claim-", i)
		require.Equal(t, b.Wait(5, key), b.Wait(5, key))
		seen[b.Wait(5, key)] = true
	}
	require.Greater(t, len(seen), 40, "things that failed together must not come back together")
}

func TestBackoffAtTheEdges(t *testing.T) {
	for name, c := range map[string]struct {
		b    Backoff
		n    int
		want time.Duration
	}{
		"a first wait above the most is the most":     {Backoff{First: time.Hour, Most: time.Minute}, 1, time.Minute},
		"no time at all stays none":                   {Backoff{}, 9, 0},
		"the largest duration does not wrap":          {Backoff{First: math.MaxInt64, Most: math.MaxInt64}, 9, math.MaxInt64},
		"a negative number of failures is no failure": {Backoff{First: time.Second, Most: time.Minute}, -1, 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.b.Wait(c.n, "key")) })
	}
}
