package hosttest

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/identity"
)

// Gate judges by Host objects and readings, as the real one does, in a cluster without Nodes and pods.
type Gate struct {
	Now func() time.Time

	mu    sync.Mutex
	error error
	gone  map[types.UID]bool
}

var _ host.Gate = (*Gate)(nil)

// Refuse has the gate answer with this error from now on; nil lets it judge again.
func (g *Gate) Refuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.error = err
}

// Gone has a claim be gone.
func (g *Gate) Gone(claim types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone == nil {
		g.gone = map[types.UID]bool{}
	}
	g.gone[claim] = true
}

func (g *Gate) refused() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.error
}

// Claimed says whether a claim is there.
func (g *Gate) Claimed(_ context.Context, claim types.UID) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.gone[claim], g.error
}

// PowerOff judges what was met beside what is on record.
func (g *Gate) PowerOff(ctx context.Context, h *v1alpha1.Host, met v1alpha1.MachineIdentity, list host.Lister) (gate.Proof, error) {
	if err := g.refused(); err != nil {
		return gate.Proof{}, err
	}
	hosts, err := list(ctx)
	if err != nil {
		return gate.Proof{}, err
	}
	e := gatetest.Evidence(gate.PowerOff, host.Subject(h), met, g.Now())
	recorded := v1alpha1.MachineIdentity{}
	if i := slices.IndexFunc(hosts, func(o *v1alpha1.Host) bool { return o.Name == h.Name && o.UID == h.UID }); i >= 0 && hosts[i].Status.Identity != nil {
		recorded = *hosts[i].Status.Identity
	}
	if h.Spec.Power.Interface == v1alpha1.PowerWoL || met.SystemUUID == "" && met.Serial == "" { // its Node is its witness
		met.SystemUUID = recorded.SystemUUID
	}
	e.Machine = gate.Read(gate.Machine{Cluster: gatetest.Cluster, ClaimUID: e.Subject.ClaimUID, Attempt: e.Subject.Attempt, Recorded: recorded, Now: met})
	e.Twins = gate.Read(identity.HostTwins(hosts)[h.Name])
	return gate.Judge(e, g.Now())
}

// HandOver permits what no other Host can be mistaken for.
func (g *Gate) HandOver(ctx context.Context, h *v1alpha1.Host, r provider.Request, list host.Lister) (gate.Proof, error) {
	if err := g.refused(); err != nil {
		return gate.Proof{}, err
	}
	hosts, err := list(ctx)
	if err != nil {
		return gate.Proof{}, err
	}
	e := gatetest.Evidence(gate.HandOver, gate.Subject{Machine: h.Name, ClaimUID: r.ClaimUID, Attempt: r.Attempt}, identity.OfHost(h), g.Now())
	e.Twins = gate.Read(identity.HostTwins(hosts)[h.Name])
	return gate.Judge(e, g.Now())
}

// Permits permits to switch off whatever is met, for this host.
func Permits(h *v1alpha1.Host, now func() time.Time) host.Permit {
	return func(_ context.Context, met v1alpha1.MachineIdentity) (gate.Proof, error) {
		return gate.Judge(gatetest.Evidence(gate.PowerOff, host.Subject(h), met, now()), now())
	}
}
