package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRebought(t *testing.T) {
	at := func(minutes int) time.Time { return Zero.Add(time.Duration(minutes) * time.Minute) }
	machine := func(pool string, from, to int) *bought {
		b := &bought{pool: pool, from: at(from)}
		if to > 0 {
			b.to = at(to)
		}
		return b
	}
	for name, c := range map[string]struct {
		machines []*bought
		want     int
	}{
		"nothing was bought again":                {[]*bought{machine("a", 0, 5), machine("a", 30, 0)}, 0},
		"bought again at once":                    {[]*bought{machine("a", 0, 5), machine("a", 5, 0)}, 1},
		"bought again ten minutes later":          {[]*bought{machine("a", 0, 5), machine("a", 15, 0)}, 1},
		"another pool's release is another thing": {[]*bought{machine("b", 0, 5), machine("a", 6, 0)}, 0},
		"one release counts once":                 {[]*bought{machine("a", 0, 5), machine("a", 6, 0), machine("a", 7, 0)}, 1},
		"in whatever order they were seen":        {[]*bought{machine("a", 6, 0), machine("a", 0, 5)}, 1},
		"a release that comes after":              {[]*bought{machine("a", 0, 5), machine("a", 4, 0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := &meter{order: c.machines}
			require.Equal(t, c.want, m.rebought())
		})
	}
}

func TestEnergyIsHoursTimesWatts(t *testing.T) {
	m := &meter{order: []*bought{{from: Zero, to: Zero.Add(90 * time.Minute), watts: 200}, {from: Zero, watts: 50}}}
	sum, _ := m.bill(Zero.Add(2 * time.Hour))
	require.InDelta(t, 0.4, sum.Energy, 1e-9)
}
