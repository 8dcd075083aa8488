package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func after(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

func TestBatchWindow(t *testing.T) {
	for name, c := range map[string]struct {
		first, last, now int // milliseconds after noon
		want             time.Duration
	}{
		"stays open for idle after a single pod":     {0, 0, 0, 500 * time.Millisecond},
		"closes when idle is over":                   {0, 0, 500, 0},
		"is open a moment before":                    {0, 0, 499, time.Millisecond},
		"stays open while pods keep coming":          {0, 3000, 3200, 300 * time.Millisecond},
		"closes at max however many keep coming":     {0, 4990, 5000, 0},
		"waits for max where idle would end later":   {0, 4900, 4950, 50 * time.Millisecond},
		"closes at once when it should have already": {0, 0, 60_000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, DefaultBatch.Wait(after(c.first), after(c.last), after(c.now)))
		})
	}
}

func TestBatchNamesTheFieldThatCannotBeUsed(t *testing.T) {
	require.NoError(t, DefaultBatch.Validate())
	require.NoError(t, Batch{}.Validate(), "a window of nothing buys at once")
	require.ErrorContains(t, Batch{Idle: -1}.Validate(), "batch idle -1ns")
	require.ErrorContains(t, Batch{Idle: 2 * time.Second, Max: time.Second}.Validate(), "batch max 1s: must be at least batch idle 2s")
}
