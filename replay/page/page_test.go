package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/replay"
)

// drawn is the page, and the data that its script gets.
func drawn(t *testing.T, c replay.Comparison, lines []*replay.Timeline) (string, data) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Write(&out, "title", c, lines))
	_, rest, found := strings.Cut(out.String(), `<script type="application/json" id="data">`)
	require.True(t, found)
	text, _, found := strings.Cut(rest, "</script>")
	require.True(t, found)
	var d data
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	return out.String(), d
}

func story(t *testing.T) (replay.Summary, *replay.Timeline) {
	t.Helper()
	o, err := replay.Story(0)
	require.NoError(t, err)
	o.Timeline = replay.NewTimeline()
	w, err := replay.New(o)
	require.NoError(t, err)
	require.NoError(t, w.Run(t.Context()))
	return w.Summary(), w.Timeline()
}

func TestAPageHoldsAllThatHappened(t *testing.T) {
	s, line := story(t)
	text, d := drawn(t, replay.Compare([]replay.Outcome{{Name: "one", Summary: s}}, replay.WaitMean), []*replay.Timeline{line})
	require.NotContains(t, text, "ZgotmplZ", "the template trusts every value")
	require.NotContains(t, strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), "http", "it needs nothing from elsewhere")
	require.Len(t, d.Policies, 1)
	p := d.Policies[0]
	require.Len(t, p.Lanes, s.Machines.Bought)
	require.True(t, p.HasLanes)
	require.Len(t, p.Moments.At, len(line.Moments))
	require.Len(t, p.Waits, 201)
	require.Equal(t, stretch{"Pending", p.Lanes[0].States[0][1], p.Lanes[0].States[0][2]}, p.Lanes[0].States[0])
}

func TestNamesAreNoMarkup(t *testing.T) {
	const name = `</script><b>&"'`
	line := replay.NewTimeline()
	line.Lanes = []*replay.Lane{{Claim: name, States: []replay.Stretch{{Name: name, To: -1}}}}
	line.Moments = []replay.Moment{{At: time.Second}}
	text, d := drawn(t, replay.Compare([]replay.Outcome{{Name: name}}, replay.WaitMean), []*replay.Timeline{line})
	require.Equal(t, name, d.Policies[0].Name)
	require.Equal(t, name, d.Policies[0].Lanes[0].Claim)
	require.Equal(t, stretch{name, 0.0, -1.0}, d.Policies[0].Lanes[0].States[0], "what lasts has no end")
	require.NotContains(t, text, "<b>")
}

func TestPodsThatAreNotJudgedAreNamed(t *testing.T) {
	o := replay.Outcome{Name: "one"}
	lines := []*replay.Timeline{replay.NewTimeline()}
	text, _ := drawn(t, replay.Compare([]replay.Outcome{o}, replay.WaitMean), lines)
	require.NotContains(t, text, "not judged")
	o.Pods.NotJudged = 3
	text, _ = drawn(t, replay.Compare([]replay.Outcome{o}, replay.WaitMean), lines)
	require.Contains(t, text, "<p>not judged: 3 pods ask for devices")
}

func TestManyPoliciesHaveNoLanes(t *testing.T) {
	var outcomes []replay.Outcome
	var lines []*replay.Timeline
	for i := range 12 {
		o := replay.Outcome{Name: fmt.Sprint(i)}
		o.Machines.Cost, o.Wait.Mean = float64(i), float64((11-i)*(11-i))
		line := replay.NewTimeline()
		line.Lanes = []*replay.Lane{{Claim: "a-000"}}
		outcomes, lines = append(outcomes, o), append(lines, line)
	}
	lines[3] = nil
	c := replay.Compare(outcomes, replay.WaitMean)
	c.Knee = "10"
	_, d := drawn(t, c, lines)
	for i, p := range d.Policies {
		require.Equal(t, i != 3 && (i < drawnLanes || i == 10), p.HasLanes, p.Name)
		require.Equal(t, p.HasLanes, len(p.Lanes) == 1, p.Name)
	}
}
