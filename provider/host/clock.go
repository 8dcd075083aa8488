package host

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// passed is how much of a wait is over that the host notes as begun at t. What another process noted counts from when this one began
// to keep the host: its clock may have been behind, and a wait that is cut short takes power away too early.
func (s *step) passed(t time.Time) time.Duration {
	if t.Before(s.o.Term) {
		t = s.o.Term
	}
	return max(s.now.Sub(t), 0)
}

// rebase corrects what a clock wrote that was ahead: what is still to come counts as now, and a quarantine that begins in the future
// begins now.
func (s *step) rebase() {
	st := s.st()
	for _, t := range []**metav1.MicroTime{&st.Since, &st.LastTry} {
		if *t != nil && (*t).After(s.now) {
			*t = micro(s.now)
		}
	}
	if q := st.Quarantine; q != nil && q.Since.After(s.now) {
		if q.Until != nil {
			q.Until = micro(s.now.Add(q.Until.Sub(q.Since.Time)))
		}
		q.Since = *micro(s.now)
	}
}

// claimedAt is when the claim got the host; never later than the state that the claim put it in.
func (s *step) claimedAt() *metav1.MicroTime {
	at := s.st().Claim.At.DeepCopy()
	if at.After(s.now) {
		return s.st().Since
	}
	return at
}
