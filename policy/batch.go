package policy

import (
	"fmt"
	"time"
)

// Batch is the window in which pods without room are gathered, so that they are packed together: it closes when no new
// one came for Idle, and at the latest Max after the first.
type Batch struct {
	Idle, Max time.Duration
}

// DefaultBatch is short enough for one pod, and long enough for a Deployment that is scaled up.
var DefaultBatch = Batch{Idle: 500 * time.Millisecond, Max: 5 * time.Second}

// Validate says which field cannot be used.
func (b Batch) Validate() error {
	switch {
	case b.Idle < 0:
		return fmt.Errorf("batch idle %s: must not be negative", b.Idle)
	case b.Max < b.Idle:
		return fmt.Errorf("batch max %s: must be at least batch idle %s", b.Max, b.Idle)
	}
	return nil
}

// Wait is how long the window stays open, 0 when it is to close now. First and last are when the oldest and the newest
// pod of the window were seen.
func (b Batch) Wait(first, last, now time.Time) time.Duration {
	closes := last.Add(b.Idle)
	if latest := first.Add(b.Max); latest.Before(closes) {
		closes = latest
	}
	return max(closes.Sub(now), 0)
}
