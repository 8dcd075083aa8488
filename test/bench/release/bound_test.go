package release

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pool of 8 and 16 cores: the bound counts in the largest.
func TestTheBoundCountsWholeNodesAtEachMoment(t *testing.T) {
	for name, c := range map[string]struct {
		rows string
		want float64
	}{
		"one pod for an hour":                        {"0,3600,1000,1024,a\n", 1},
		"two that share a node":                      {"0,3600,8000,1024,a\n0,3600,8000,1024,b\n", 1},
		"two that need one more while both are here": {"0,3600,12000,1024,a\n1800,3600,12000,1024,b\n", 2},
		"memory counts as well":                      {"0,3600,1000,131072,a\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			pools := generalPools()
			trace, err := load("t", bytes.NewBufferString("arrival_s,duration_s,cpu_milli,memory_mib,name\n"+c.rows), pools, 0)
			require.NoError(t, err)
			got, err := Bound(trace, pools)
			require.NoError(t, err)
			require.InDelta(t, c.want, got, 1e-9)
		})
	}
}
