package stage

import (
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// errNever ends a wait at once: what is waited for can no longer happen.
var errNever = errors.New("this can no longer happen")

// Never marks an error as final, so that a wait does not go on until its deadline.
func Never(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errNever}, args...)...)
}

// Await asks until the answer is nil and returns how long that took. Deadlines are generous: they tell a hang from a
// slow machine and are no measurement.
func (s *Stage) Await(within time.Duration, what string, check func() error) time.Duration {
	s.T.Helper()
	begin := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		last := check()
		if last == nil {
			return time.Since(begin)
		}
		if errors.Is(last, errNever) || time.Since(begin) > within || s.Ctx.Err() != nil {
			require.NoError(s.T, last, "waited %s for %s", time.Since(begin).Round(time.Millisecond), what)
		}
		<-tick.C
	}
}

// Hold checks again and again that something stays as it is while another thing comes about.
func (s *Stage) Hold(within time.Duration, what string, invariant, until func() error) {
	s.T.Helper()
	s.Await(within, what, func() error {
		if err := invariant(); err != nil {
			return Never("%w", err)
		}
		return until()
	})
}
