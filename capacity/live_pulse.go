package capacity

import "time"

// pulse is how long the scheduler was seen to be at work. A scheduler that is stopped, hangs or has lost the API server
// ignores no wake-up: it has not got it.
type pulse struct {
	followed bool // somebody tells of signs of life; where nobody does, time is all there is
	last     time.Time
	lived    time.Duration
}

// longestBreath is how far two signs of life may be apart. A scheduler renews its lease every 2 s (leaderElection.retryPeriod).
const longestBreath = 6 * time.Second

func (p *pulse) beat(now time.Time) {
	if gap := now.Sub(p.last); gap > 0 && gap <= longestBreath {
		p.lived += gap
	}
	if now.After(p.last) {
		p.last = now
	}
}

// SchedulerSeen notes that the scheduler renewed its lease. From the first call on, wake-ups count as ignored only for as
// long as it was at work.
func (l *Live) SchedulerSeen(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pulse.followed = true
	l.pulse.beat(now)
}
