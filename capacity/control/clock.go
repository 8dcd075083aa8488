package control

import (
	"context"
	"log/slog"
	"time"
)

// Clock is the time of one process: what the wall clock said when the process began, and since then as much later as has passed.
// The wall clock may be set while the process runs; no wait that is measured with a Clock gets shorter or longer by that.
type Clock struct {
	began  time.Time
	passed func() time.Duration
}

// NewClock makes a clock that begins at a time of the wall clock. passed is how long ago that was by a clock that nobody sets.
func NewClock(began time.Time, passed func() time.Duration) *Clock {
	return &Clock{began: began.Round(0), passed: passed}
}

// StartClock makes the clock of this process. What passes is measured by the monotonic clock of the computer, which stands still
// while the computer is suspended.
func StartClock() *Clock {
	began := time.Now()
	return NewClock(began, func() time.Duration { return time.Since(began) })
}

// Now is the time of the process.
func (c *Clock) Now() time.Time { return c.began.Add(c.passed()) }

// Offset is how far a wall clock is ahead of the process.
func (c *Clock) Offset(wall time.Time) time.Duration { return wall.Round(0).Sub(c.Now()) }

const (
	// offsetTold is how far a wall clock has to be set before that is logged, offsetEvery how often it is looked at.
	offsetTold  = 30 * time.Second
	offsetEvery = time.Minute
)

// watch logs each time that the wall clock has been set.
func (c *Clock) watch(log *slog.Logger, wall func() time.Time) func(context.Context, time.Time) {
	var told time.Duration
	return func(context.Context, time.Time) {
		offset := c.Offset(wall())
		if moved := offset - told; moved.Abs() < offsetTold {
			return
		}
		told = offset
		log.Warn("the clock of this computer was set while Muster runs: waits do not change, times that Muster writes and release "+
			"windows follow after a restart", "ahead", offset.Round(time.Second))
	}
}
