package host

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Call is what the loop asks of a host's switch. The empty one is nothing.
type Call string

// The calls.
const (
	CallNone     Call = ""
	CallRead     Call = "read"
	CallOn       Call = "on"
	CallShutdown Call = "shutdown"
	CallOff      Call = "off"
	CallClear    Call = "clearboot"
)

// Outcome is the result of one call, begun at a time. Reading is set when a read worked.
type Outcome struct {
	Call    Call
	Reading Reading
	Err     error
	Began   time.Time
}

// Look is the last reading of a host and since when it reads so. It is kept in memory only: after a restart a host is
// read again before anything is decided on its power.
type Look struct {
	Reading Reading
	At      time.Time // when the call was begun; zero: never read
	Since   time.Time // when the row of equal readings began
	Tried   time.Time // when a read was last begun, whatever came of it
}

// After returns what is known after a call. A failed read ends a row of equal readings.
func (l Look) After(o Outcome) Look {
	if o.Call != CallRead {
		return l
	}
	l.Tried = o.Began
	if o.Err != nil {
		l.Since = time.Time{}
		return l
	}
	if l.Since.IsZero() || l.Reading.Power != o.Reading.Power {
		l.Since = o.Began
	}
	l.Reading, l.At = o.Reading, o.Began
	return l
}

// held says that the power read the same for so long.
func (l Look) held(p Power, hold time.Duration) bool {
	return l.Reading.Power == p && !l.Since.IsZero() && l.At.Sub(l.Since) >= hold
}

// ClaimSight is what the NodeClaim of a host says.
type ClaimSight struct {
	State v1alpha1.ClaimState
	// Served says that its node was ready once.
	Served bool
	// TimedOut says that the machine is given back because its node did not register in time.
	TimedOut bool
	// NodeName and NodeUID are the Node that registered for the claim; empty before one did.
	NodeName string
	NodeUID  types.UID
	// Attempt is the claim's.
	Attempt int32
	// Gone says that the claim waits for the machine of its attempt no more: it was proven gone, a person said so, or there is no claim.
	Gone bool
	// Confirmed says that a person said so of an attempt of this claim.
	Confirmed bool
}

// Observed is what the loop saw for one host.
type Observed struct {
	Look Look
	// Outcome is the call made since the last step, nil when there was none.
	Outcome *Outcome
	// Claim is nil where it is not known.
	Claim *ClaimSight
	// Double says that another host has the same claim by right: it was claimed earlier.
	Double bool
	// Term is when this process began to keep hosts; what the host notes from before that is of another clock.
	Term time.Time
	// Twins are the hosts that cannot be told apart from this one, each with the reason.
	Twins []string
}
