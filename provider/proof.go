package provider

import (
	"errors"
	"time"

	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// Subject is what a proof about this machine has to name.
func (m Machine) Subject() gate.Subject {
	return gate.Subject{Machine: string(m.ID), ClaimUID: m.ClaimUID, Attempt: m.Attempt}
}

// Spend spends the proof of an act to a machine. Every backend calls it after its last look at the machine and before its first
// request that changes anything; met is what the machine was at that look. ErrRefused means that there is no such proof, or that
// the machine is not the one that it is about; ErrBusy that the proof was good and is spent or too old. Nothing was done then.
func Spend(p gate.Proof, act gate.Act, m Machine, met gate.Identity, now time.Time) error {
	if err := p.Check(act, m.Subject(), now); err != nil {
		return noProof(err)
	}
	if why := identity.Contradiction(p.Identity(), met); why != "" {
		return &Error{Op: string(act), Kind: ErrRefused, Err: errors.New("another machine is in its place: " + why)}
	}
	if err := p.Spend(act, m.Subject(), now); err != nil {
		return noProof(err)
	}
	return nil
}

func noProof(err error) error {
	if errors.Is(err, gate.ErrStale) {
		return &Error{Kind: ErrBusy, Err: err}
	}
	return &Error{Kind: ErrRefused, Err: err}
}
