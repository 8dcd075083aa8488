package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimelineOfTheStory(t *testing.T) {
	o, err := Story(0)
	require.NoError(t, err)
	o.Timeline = NewTimeline()
	w, err := New(o)
	require.NoError(t, err)
	for w.Step() {
	}
	line, s := w.Timeline(), w.Summary()
	require.Len(t, line.Lanes, s.Machines.Bought)
	stays := 0
	for _, l := range line.Lanes {
		require.NotEmpty(t, l.For, l.Claim)
		require.LessOrEqual(t, len(l.For), min(l.ForCount, shownFor))
		names := make([]string, 0, len(l.States))
		for i, state := range l.States {
			names = append(names, state.Name)
			require.Less(t, state.From, state.To, "%s %s", l.Claim, state.Name)
			if i > 0 {
				require.Equal(t, l.States[i-1].To, state.From, "one state follows another")
			}
		}
		require.Equal(t, []string{"Pending", "Launching", "Joining", "Starting", "Ready", "Draining", "Releasing"}, names, l.Claim)
		for _, p := range l.Pods {
			require.Less(t, p.From, p.To, p.Name)
		}
		stays += len(l.Pods)
	}
	require.Equal(t, s.Pods.Arrived, stays, "every pod ran once")
	early := line.Moments[slices.IndexFunc(line.Moments, func(m Moment) bool { return m.Waiting == 10 })]
	require.Equal(t, Moment{At: early.At, Waiting: 10, Wanted: 5000}, early, "ten pods of half a core, and no node yet")
	peak := Moment{}
	for i, m := range line.Moments {
		if i > 0 {
			require.GreaterOrEqual(t, m.At, line.Moments[i-1].At)
		}
		peak.merge(m)
	}
	require.Equal(t, s.Machines.PeakNodes, peak.Nodes)
	require.LessOrEqual(t, peak.Bound, s.Pods.Arrived)
	end := line.Moments[len(line.Moments)-1]
	require.Equal(t, Moment{At: end.At}, end, "nothing is left, and nothing is wanted")
	require.Len(t, line.Waits, 201)
	require.InDelta(t, s.Wait.P50, line.Waits[100], 0.5)
	require.Equal(t, s.Wait.Max, line.Waits[200])
}

func TestALongTimelineKeepsItsPeaksAndItsEnd(t *testing.T) {
	line := NewTimeline()
	for i := range 100_000 {
		m := Moment{At: time.Duration(i) * time.Second, Waiting: i % 7, Nodes: 3}
		if i == 61_803 {
			m.Waiting = 1000
		}
		line.observe(m)
	}
	line.observe(Moment{At: 500_000 * time.Second})
	require.LessOrEqual(t, len(line.Moments), maxMoments)
	require.GreaterOrEqual(t, len(line.Moments), maxMoments/8)
	most := 0
	for i, m := range line.Moments {
		most = max(most, m.Waiting)
		require.True(t, i == 0 || m.At >= line.Moments[i-1].At)
	}
	require.Equal(t, 1000, most)
	n := len(line.Moments)
	require.Equal(t, Moment{At: 500_000 * time.Second}, line.Moments[n-1])
	require.Equal(t, 99_999%7, line.Moments[n-2].Waiting, "how it stood until then, not the most of a while")
}

func TestATimelineWithoutAWorldIsNone(t *testing.T) {
	w := newWorld(t, Options{}, burst(1, 0, 0, time.Minute, "1", "1Gi")...)
	require.Nil(t, w.Timeline())
}
