package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// from is when a wait began that the claim notes as begun at t. What another process noted, by a clock that may have been ahead or
// behind, counts from when this one began to lead: then the wait lasts its whole length by one clock.
func (s *step) from(t time.Time) time.Time {
	if t.Before(s.o.Term) {
		return s.o.Term
	}
	return t
}

// passed is how much of a wait is over that the claim notes as begun at t.
func (s *step) passed(t time.Time) time.Duration { return s.now.Sub(s.from(t)) }

// released is when the drain began, by the time of the release; where that is still to come, by the time at which the drain was noted.
func (s *step) released() time.Time {
	at := s.c.Spec.Release.Since.Time
	if d := meta.FindStatusCondition(s.c.Status.Conditions, v1alpha1.ConditionDraining); at.After(s.now) && d != nil {
		at = d.LastTransitionTime.Time
	}
	return at
}

// rebase corrects what a clock wrote that was set since. Times that are still to come count as now. A wait that began in the future
// begins now. A wait that another process began, and that must not be cut short, begins when this process began to lead.
func (s *step) rebase() {
	st := &s.c.Status
	for _, t := range []**metav1.MicroTime{&st.LaunchedAt, &st.RegisteredAt, &st.ReadyAt} {
		s.notToCome(t)
	}
	if r := st.Restart; r != nil && r.At.After(s.now) {
		r.At = *micro(s.now)
	}
	for i := range st.Conditions {
		if c := &st.Conditions[i]; c.LastTransitionTime.After(s.now) {
			c.LastTransitionTime = metav1.NewTime(s.now)
		}
	}
	s.rebaseAttempt()
	if again := st.DrainAgain; again != nil {
		if end := s.now.Add(s.rests()); again.After(end) {
			st.DrainAgain = micro(end)
		}
	}
}

func (s *step) notToCome(t **metav1.MicroTime) {
	if *t != nil && (*t).After(s.now) {
		*t = micro(s.now)
	}
}

// longestWait bounds a wait of which it is not known when it began.
const longestWait = FailedKept

func (s *step) rebaseAttempt() {
	st := &s.c.Status
	if st.NextAttempt == nil {
		return
	}
	if st.WaitingSince == nil {
		if end := s.now.Add(longestWait); st.NextAttempt.After(end) {
			s.waitUntil(end)
		}
		return
	}
	began, length := st.WaitingSince.Time, st.NextAttempt.Sub(st.WaitingSince.Time)
	switch {
	case began.After(s.now):
		began = s.now
	case began.Before(s.o.Term) && keepsWait(st.State):
		began = s.o.Term
	default:
		return
	}
	st.WaitingSince, st.NextAttempt = micro(began), micro(began.Add(length))
}

// keepsWait says whether the waits of a state are for something that cannot be undone later: a binding, a creation or a Node that
// still shows, a volume that is still attached.
func keepsWait(state v1alpha1.ClaimState) bool {
	return state == v1alpha1.ClaimDraining || state == v1alpha1.ClaimReleasing
}

// rests is how long the last drain keeps the next one away.
func (s *step) rests() time.Duration {
	undone, reopened := drainBackoff.Wait(int(s.c.Status.DrainFailures), string(s.c.UID)), reopenBackoff.Wait(int(s.c.Status.DrainReopened), string(s.c.UID))
	switch s.reasonOf(v1alpha1.ConditionDraining) {
	case ReasonBlocked:
		return undone
	case ReasonReopened:
		return reopened
	}
	return max(undone, reopened)
}
