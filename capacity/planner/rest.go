package planner

import (
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

// backOff stops the pool, or takes shapes off sale, until their waits are over.
func (s *vendor) backOff(waits []v1alpha1.PoolBackoff, now time.Time) {
	for i := range waits {
		b := &waits[i]
		switch {
		case !b.Until.After(now):
		case b.Shape != "":
			s.waits = append(s.waits, *b)
		case s.stop.Code == "" || b.Until.After(s.until):
			s.stop, s.until = backoffReason(b), b.Until.Time
		}
	}
}

func backoffReason(b *v1alpha1.PoolBackoff) capacity.Reason {
	return capacity.Reason{Code: capacity.CodePoolBackoff, Detail: b.Class}
}

// resting is the wait that a shape is in, or nil: it could not be had, or something no larger could not.
func (s *vendor) resting(shape v1alpha1.Shape) *v1alpha1.PoolBackoff {
	if len(s.waits) == 0 {
		return nil
	}
	machine := amount.Of(capacity.WithPods(shape.Resources))
	for i := range s.waits {
		b := &s.waits[i]
		if b.Shape == shape.Name || machine.Covers(amount.Of(b.Capacity)) {
			return b
		}
	}
	return nil
}
