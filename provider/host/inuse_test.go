package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

// TestM06AClaimedHostThatIsDeletedStays: its object is all that says that its machine is Muster's. When it went, Get and Delete
// answered "not found" (the machine is gone) while the machine ran.
func TestM06AClaimedHostThatIsDeletedStays(t *testing.T) {
	rack, lamps := rackOf(t, 1)
	request := ask()
	m, err := rack.Provider.Create(t.Context(), request)
	require.NoError(t, err)
	rack.Advance(t, time.Minute)
	require.True(t, lamps["host-00"].IsOn())

	rack.Objects.Delete("host-00", rack.Now())
	rack.Advance(t, time.Minute)
	h := rack.Objects.Get("host-00")
	require.NotNil(t, h, "the object is held")
	require.Equal(t, []string{v1alpha1.HostFinalizer}, h.Finalizers)
	_, err = rack.Provider.Get(t.Context(), m)
	require.NoError(t, err, "its machine is not proven gone")
	why := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionDeleting)
	require.NotNil(t, why)
	require.Equal(t, metav1.ConditionTrue, why.Status)
	require.Contains(t, why.Message, "NodeClaim "+request.Claim+" has this host. Delete that NodeClaim")
	require.Contains(t, rack.Events(), "host-00 InUse")

	rack.Claims.Set(m.ClaimUID, host.ClaimSight{State: v1alpha1.ClaimReleasing})
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, 20*time.Minute)
	require.False(t, lamps["host-00"].IsOn())
	require.NotNil(t, rack.Objects.Get("host-00"), "its claim does not know yet")
	require.ErrorIs(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())), provider.ErrNotFound)
	rack.Claims.Set(m.ClaimUID, host.ClaimSight{State: v1alpha1.ClaimReleasing, Gone: true})
	rack.Advance(t, time.Minute)
	require.Nil(t, rack.Objects.Get("host-00"), "it goes when it is seen off, and its claim knows")
	require.ErrorIs(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())), provider.ErrUnknown, "an object that is not there proves nothing")
}

// The finalizer of a host that serves nobody comes off, and a host that was never claimed has none.
func TestAFreeHostCarriesNoFinalizer(t *testing.T) {
	rack, _ := rackOf(t, 2)
	rack.Advance(t, time.Minute)
	m, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	rack.Advance(t, time.Minute)
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, 20*time.Minute)
	for _, name := range []string{"host-00", "host-01"} {
		require.Empty(t, rack.Objects.Get(name).Finalizers, name)
	}
	rack.Objects.Delete("host-01", rack.Now())
	require.Nil(t, rack.Objects.Get("host-01"))
}

// Other finalizers are left alone.
func TestFinalizersOfOthersStay(t *testing.T) {
	rack, _ := rackOf(t, 1)
	h := rack.Objects.Get("host-00")
	h.Finalizers = []string{"example.org/a", "example.org/b"}
	rack.Objects.Put(h)
	m, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	require.Equal(t, []string{"example.org/a", "example.org/b", v1alpha1.HostFinalizer}, rack.Objects.Get("host-00").Finalizers)
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, time.Minute)
	require.Equal(t, []string{"example.org/a", "example.org/b"}, rack.Objects.Get("host-00").Finalizers)
}

// A host without the finalizer is not claimed: a crash, or an error, between the two writes leaves a finalizer and no claim, and the
// next look takes it off.
func TestAHostIsClaimedOnlyWithItsFinalizer(t *testing.T) {
	for name, late := range map[string]bool{"the write is refused": false, "its answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			rack, _ := rackOf(t, 1)
			calls := 0
			broken := &breaks{Objects: rack.Objects, on: func(what string) {
				if what == "finalizers" {
					calls++
					rack.Objects.Break(errors.New("the API server is away"), late)
				}
			}}
			p := host.NewProvider(hosttest.ProviderName, broken, rack.Keeper.Switches, rack.Gate, rack.Now)
			_, err := p.Create(t.Context(), ask())
			require.ErrorIs(t, err, provider.ErrUnknown)
			require.Equal(t, 1, calls)
			h := rack.Objects.Get("host-00")
			require.Nil(t, h.Status.Claim)
			require.Equal(t, late, len(h.Finalizers) == 1)
			rack.Advance(t, time.Minute)
			require.Empty(t, rack.Objects.Get("host-00").Finalizers)
		})
	}
}

// A host that was claimed before there were finalizers gets its own.
func TestAHostThatIsInUseGetsItsFinalizer(t *testing.T) {
	rack, _ := rackOf(t, 1)
	_, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	h := rack.Objects.Get("host-00")
	h.Finalizers = nil
	rack.Objects.Put(h)
	rack.Advance(t, time.Minute)
	require.Equal(t, []string{v1alpha1.HostFinalizer}, rack.Objects.Get("host-00").Finalizers)
}

// A host whose machine was handed over is free, its power is left alone, and it is not claimed while it is on.
func TestAHostWhoseNodeIsKeptIsTheUsers(t *testing.T) {
	rack, lamps := rackOf(t, 1)
	request := ask()
	_, err := rack.Provider.Create(t.Context(), request)
	require.NoError(t, err)
	rack.Advance(t, time.Minute)
	before := lamps["host-00"].Calls()
	rack.Claims.Keep(request.ClaimUID)
	rack.Advance(t, time.Hour)
	h := rack.Objects.Get("host-00")
	require.Nil(t, h.Status.Claim)
	require.False(t, h.Status.SwitchedOn)
	require.Empty(t, h.Finalizers)
	require.Contains(t, rack.Events(), "host-00 Kept")
	require.True(t, lamps["host-00"].IsOn())
	require.Equal(t, before, lamps["host-00"].Calls())
	other := ask()
	other.Claim, other.ClaimUID = "other", "other"
	_, err = rack.Provider.Create(t.Context(), other)
	require.ErrorIs(t, err, provider.ErrNoCapacity)
}

// breaks is told of each write before it is made.
type breaks struct {
	*hosttest.Objects
	on func(what string)
}

func (b *breaks) SetFinalizers(ctx context.Context, h *v1alpha1.Host, finalizers []string) (*v1alpha1.Host, error) {
	b.on("finalizers")
	return b.Objects.SetFinalizers(ctx, h, finalizers)
}
