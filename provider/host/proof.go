package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// Permit returns the proof that the power of a host may be taken. A switch asks for it in the operation that takes the power, after it
// read there which machine it is about, and spends the proof before its first request that changes anything. An error means no.
type Permit func(ctx context.Context, met v1alpha1.MachineIdentity) (gate.Proof, error)

// Gate permits what cannot be taken back. It reads past every cache, after it was asked.
type Gate interface {
	// PowerOff proves that the host may be switched off: met is what its interface told a moment ago, hosts reads all Host objects.
	PowerOff(ctx context.Context, h *v1alpha1.Host, met v1alpha1.MachineIdentity, hosts Lister) (gate.Proof, error)
	// HandOver proves that a free host may be claimed: nothing of an earlier claim is left on it.
	HandOver(ctx context.Context, h *v1alpha1.Host, r provider.Request, hosts Lister) (gate.Proof, error)
	// Claimed says whether a NodeClaim with this UID exists.
	Claimed(ctx context.Context, claim types.UID) (bool, error)
}

// Lister reads every Host past every cache.
type Lister = func(ctx context.Context) ([]*v1alpha1.Host, error)

// Subject is what a proof about a claimed host has to name.
func Subject(h *v1alpha1.Host) gate.Subject {
	s := gate.Subject{Machine: h.Name}
	if c := h.Status.Claim; c != nil {
		s.ClaimUID, s.Attempt = c.UID, c.Attempt
	}
	return s
}

// Bound is the host that a switch is of: which machine it has to meet, and what a proof has to name. A switch of none takes no power.
type Bound struct {
	host *v1alpha1.Host
	now  func() time.Time
}

// Bind binds a switch to a host.
func Bind(h *v1alpha1.Host, now func() time.Time) Bound { return Bound{host: h, now: now} }

// Met is a reading of the machine at the host's address.
func (b Bound) Met(system, uuid, serial string) v1alpha1.MachineIdentity {
	met := v1alpha1.MachineIdentity{System: system, SystemUUID: known(uuid), Serial: identity.Serial(serial)}
	if b.host != nil {
		met.Address = identity.BMC(b.host.Spec.Power.Address)
	}
	return met
}

// known is a system UUID that tells a machine from others.
func known(uuid string) string {
	if identity.Factory(uuid) {
		return ""
	}
	return uuid
}

// Sure is nil where a reading confirms what was recorded of the host. Every call that changes anything asks it first, in the same
// operation on the BMC. A machine that told which one it is and does not any more is not sure to be the same.
func (b Bound) Sure(met v1alpha1.MachineIdentity) error {
	if err := b.Same(met); err != nil {
		return err
	}
	if b.host == nil || b.host.Status.Identity == nil || !tells(b.host) {
		return nil
	}
	if why := identity.Unproven(*b.host.Status.Identity, met); why != "" {
		return &provider.Error{Op: "compare the machine with the recorded one", Kind: provider.ErrBusy, Err: errors.New(why)}
	}
	return nil
}

// tells says that the host's interface once told which machine it is of.
func tells(h *v1alpha1.Host) bool {
	c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionIdentified)
	return c != nil && c.Reason != reasonNoProof
}

// Same is nil where nothing of a reading contradicts what was recorded of the host; else an *Another.
func (b Bound) Same(met v1alpha1.MachineIdentity) error {
	if b.host == nil || b.host.Status.Identity == nil {
		return nil
	}
	if why := identity.Contradiction(*b.host.Status.Identity, met); why != "" {
		return &Another{Met: met, Why: why}
	}
	return nil
}

// Spend asks for the proof that the machine which was met may be switched off, and spends it.
func (b Bound) Spend(ctx context.Context, permit Permit, met v1alpha1.MachineIdentity) error {
	if err := b.Sure(met); err != nil {
		return err
	}
	if permit == nil || b.host == nil {
		return &Denied{gate.ErrNoProof}
	}
	proof, err := permit(ctx, met)
	if err != nil {
		return err
	}
	s := Subject(b.host)
	return provider.Spend(proof, gate.PowerOff, provider.Machine{ID: provider.ID(s.Machine), ClaimUID: s.ClaimUID, Attempt: s.Attempt}, met, b.now())
}

// Another is the error of a switch that met another machine than the recorded one. Nothing was changed.
type Another struct {
	Met v1alpha1.MachineIdentity
	Why string
}

func (e *Another) Error() string { return "another machine answers: " + e.Why }

// Unwrap makes it an ErrBusy: nothing was done, and the recorded machine may answer again.
func (e *Another) Unwrap() error { return &provider.Error{Op: e.Error(), Kind: provider.ErrBusy} }

// Denied is the error of a power-off that the gate did not permit. Nothing was changed.
type Denied struct{ Err error }

func (e *Denied) Error() string { return e.Err.Error() }

// Unwrap makes it an ErrBusy: the gate is asked again.
func (e *Denied) Unwrap() []error {
	return []error{e.Err, &provider.Error{Op: e.Error(), Kind: provider.ErrBusy}}
}

// reason is that of the clause that does not hold, in CamelCase.
func (e *Denied) reason() string {
	var refusal *gate.Refusal
	if errors.As(e.Err, &refusal) {
		return refusal.Reason
	}
	return "NotProven"
}

// errNoGate is the answer where nothing is wired that could permit.
var errNoGate = fmt.Errorf("nothing here can permit it: %w", gate.ErrNoProof)
