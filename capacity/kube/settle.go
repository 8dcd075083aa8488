package kube

import (
	"fmt"
	"time"

	"github.com/muster-sh/muster/capacity"
)

// Settle says whether a place filter may answer. Right after a start, or after the lead changed, bindings that another
// Muster answered for (or this one, before it was killed) may still be on their way, and nobody holds their room. They
// are waited for: until nothing that we did not hold was bound for a while.
type Settle struct {
	Live *capacity.Live
	Lead *Lead
	Wait time.Duration
}

// Err is nil once it is safe to answer.
func (s *Settle) Err(now time.Time) error {
	since, leading := s.Lead.Since(now)
	if !leading {
		return fmt.Errorf("not leading: the lease is not held by the scheduler of this pod")
	}
	if bound := s.Live.StrangerBound(); bound.After(since) {
		since = bound
	}
	if left := s.Wait - now.Sub(since); left > 0 {
		return fmt.Errorf("settling for another %s: earlier answers may still be bound", left.Round(time.Millisecond))
	}
	return nil
}
