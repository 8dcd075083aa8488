package providertest

import (
	"context"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
)

// delete gives a machine back with a fresh proof that it is what is said of it.
func (b Backend) delete(ctx context.Context, m provider.Machine) error {
	return b.Provider.Delete(ctx, m, gatetest.Judge(gate.Delete, m, b.Now()))
}

// stop takes a machine's power away with a fresh proof.
func (b Backend) stop(ctx context.Context, m provider.Machine) (provider.Machine, error) {
	return b.Provider.Stop(ctx, m, gatetest.Judge(gate.Stop, m, b.Now()))
}
