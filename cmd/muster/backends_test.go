package main

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider"
)

// shelf is a backend with the machines of some claims.
type shelf struct {
	ailing
	has  map[types.UID]bool
	err  error // of Get
	made []string
}

func (s *shelf) Get(_ context.Context, m provider.Machine) (provider.Machine, error) {
	if s.err == nil && !s.has[m.ClaimUID] {
		return provider.Machine{}, provider.ErrNotFound
	}
	return provider.Machine{ClaimUID: m.ClaimUID}, s.err
}

func (s *shelf) Create(_ context.Context, r provider.Request) (provider.Machine, error) {
	s.made = append(s.made, r.Claim)
	return provider.Machine{ClaimUID: r.ClaimUID}, nil
}

func TestAProviderThatIsBeingDeletedMakesNothingNew(t *testing.T) {
	live, s := capacity.NewLive(capacity.Schedulers{}), &shelf{has: map[types.UID]bool{"old": true}}
	b := newBackends(live, prometheus.NewRegistry(), map[v1alpha1.ProviderType]maker{
		v1alpha1.ProviderSim: func(*v1alpha1.Provider) (provider.Provider, error) { return s, nil },
	})
	object := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "px", UID: "1", Generation: 1, ResourceVersion: "1"}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim}}
	live.SetProvider(object)
	create := func(uid types.UID) error {
		backend, err := b.Backend("px")
		require.NoError(t, err)
		_, err = backend.Create(t.Context(), provider.Request{Claim: "claim-" + string(uid), ClaimUID: uid, Attempt: 1})
		return err
	}
	require.NoError(t, create("new"))
	deleted := object.DeepCopy()
	deleted.ResourceVersion, deleted.DeletionTimestamp = "2", new(metav1.NewTime(time.Unix(0, 0)))
	live.SetProvider(deleted)
	require.NoError(t, create("old"), "what is there is gone on with: it may have to be started again")
	require.ErrorIs(t, create("newer"), provider.ErrRefused)
	require.ErrorContains(t, create("newer"), "provider px is being deleted")
	s.err = provider.ErrUnknown
	require.ErrorIs(t, create("old"), provider.ErrUnknown)
	require.Equal(t, []string{"claim-new", "claim-old"}, s.made)
	backend, err := b.Backend("px")
	require.NoError(t, err)
	_, err = backend.Get(t.Context(), provider.Machine{ClaimUID: "old"})
	require.ErrorIs(t, err, provider.ErrUnknown, "everything else is asked of it as before")
}

// A Provider that is made again under its name begins at generation 1, too: it must not be served by the backend of the old one.
func TestAProviderThatIsMadeAgainGetsABackendOfItsOwn(t *testing.T) {
	live, made := capacity.NewLive(capacity.Schedulers{}), 0
	b := newBackends(live, prometheus.NewRegistry(), map[v1alpha1.ProviderType]maker{
		v1alpha1.ProviderSim: func(*v1alpha1.Provider) (provider.Provider, error) { made++; return &shelf{}, nil },
	})
	for _, uid := range []types.UID{"1", "1", "2"} {
		live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "px", UID: uid, Generation: 1}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim}})
		_, err := b.Backend("px")
		require.NoError(t, err)
	}
	require.Equal(t, 2, made)
}
