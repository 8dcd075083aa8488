package objects_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/objects"
)

func api(t *testing.T, funcs interceptor.Funcs, hosts ...client.Object) *objects.API {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return &objects.API{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(hosts...).
		WithStatusSubresource(&v1alpha1.Host{}).WithInterceptorFuncs(funcs).Build()}
}

func TestAStatusIsWrittenOnceForEachVersion(t *testing.T) {
	a := api(t, interceptor.Funcs{}, hosttest.Host(1, v1alpha1.Power{}))
	all, err := a.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	all[0].Status.State = v1alpha1.HostPoweringOn
	written, err := a.UpdateStatus(t.Context(), all[0])
	require.NoError(t, err)
	require.NotEqual(t, all[0].ResourceVersion, written.ResourceVersion)
	_, err = a.UpdateStatus(t.Context(), all[0])
	require.ErrorIs(t, err, host.ErrConflict, "who read the old version does nothing")
}

func TestAListThatFailedIsNoList(t *testing.T) {
	a := api(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the API server is away")
	}})
	p := host.NewProvider(hosttest.ProviderName, a, nil, nil, (&hosttest.Clock{}).Now)
	_, err := p.List(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
}

// Callers share lists, and nobody gets one that was begun before his call.
func TestListsAreSharedAndNeverOlderThanTheCall(t *testing.T) {
	var lists atomic.Int64
	begun, goOn := make(chan struct{}), make(chan struct{})
	a := api(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if lists.Add(1) == 1 {
			close(begun)
			<-goOn
		}
		return c.List(ctx, l, o...)
	}}, hosttest.Host(1, v1alpha1.Power{}))
	var all sync.WaitGroup
	all.Go(func() { _, err := a.List(context.Background()); require.NoError(t, err) })
	<-begun
	require.NoError(t, a.Client.Create(t.Context(), hosttest.Host(2, v1alpha1.Power{})))
	for range 50 {
		all.Go(func() {
			hosts, err := a.List(context.Background())
			require.NoError(t, err)
			require.Len(t, hosts, 2, "it was made before the call")
		})
	}
	close(goOn)
	all.Wait()
	require.LessOrEqual(t, lists.Load(), int64(51))
	require.GreaterOrEqual(t, lists.Load(), int64(2))
}

// A list that hangs is given up with its last caller, and does not hold up the next one.
func TestAListThatNobodyWaitsForEnds(t *testing.T) {
	var lists atomic.Int64
	a := api(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if lists.Add(1) == 1 {
			<-ctx.Done()
			return ctx.Err()
		}
		return c.List(ctx, l, o...)
	}}, hosttest.Host(1, v1alpha1.Power{}))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := a.List(ctx)
		require.ErrorIs(t, err, context.Canceled)
		began := time.Now()
		all, err := a.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Zero(t, time.Since(began))
	})
}
