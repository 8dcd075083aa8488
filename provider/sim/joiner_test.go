package sim_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
	"github.com/muster-sh/muster/provider/sim"
)

// register holds the Nodes that were made, and fails as often as it was told.
type register struct {
	mu    sync.Mutex
	nodes []string
	fail  int
}

func (r *register) CreateNode(_ context.Context, node *corev1.Node) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail > 0 {
		r.fail--
		return errors.New("the API server is away")
	}
	r.nodes = append(r.nodes, node.Name)
	return nil
}

func (r *register) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.nodes...)
}

func slowCloud(t *testing.T) *sim.Cloud {
	config := sim.DefaultConfig()
	config.BootMin, config.BootMedian, config.BootMax = time.Minute, time.Minute, time.Minute
	return newCloud(t, config)
}

func TestANodeIsMadeWhenItsMachineBootedAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud, nodes := slowCloud(t), &register{}
		go (&sim.Joiner{Cloud: cloud, Nodes: nodes, Now: time.Now, Log: slog.New(slog.DiscardHandler)}).Run(t.Context())
		time.Sleep(10 * time.Minute)
		_, err := cloud.Create(ask("std-000", 1), time.Now())
		require.NoError(t, err)
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		require.Empty(t, nodes.all())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{identity.MadeNodeName("std-000", "uid-of-std-000", 1)}, nodes.all())
	})
}

func TestANodeThatCouldNotBeMadeIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud, nodes := slowCloud(t), &register{fail: 3}
		go (&sim.Joiner{Cloud: cloud, Nodes: nodes, Now: time.Now, Log: slog.New(slog.DiscardHandler)}).Run(t.Context())
		_, err := cloud.Create(ask("std-000", 1), time.Now())
		require.NoError(t, err)
		time.Sleep(time.Minute + 3*time.Second - time.Nanosecond)
		synctest.Wait()
		require.Empty(t, nodes.all())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{identity.MadeNodeName("std-000", "uid-of-std-000", 1)}, nodes.all())
	})
}

func TestAMachineThatIsGoneDoesNotRegisterAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud, nodes := slowCloud(t), &register{fail: 1000}
		go (&sim.Joiner{Cloud: cloud, Nodes: nodes, Now: time.Now, Log: slog.New(slog.DiscardHandler)}).Run(t.Context())
		m, err := cloud.Create(ask("std-000", 1), time.Now())
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		require.NoError(t, cloud.Delete(m, time.Now(), nil))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		nodes.mu.Lock()
		nodes.fail = 0
		nodes.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, nodes.all())
	})
}

func TestANodeOfAnotherMachineIsNotTakenOver(t *testing.T) {
	node := func(providerID string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "std-000"}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	}
	k := sim.KubeNodes{Client: fake.NewClientset().CoreV1().Nodes()}
	require.NoError(t, k.CreateNode(t.Context(), node("sim://a")))
	require.NoError(t, k.CreateNode(t.Context(), node("sim://a")), "the same again")
	require.ErrorContains(t, k.CreateNode(t.Context(), node("sim://b")), "sim://a")
}

func TestServeRunsTheWholeBackendUntilItIsTold(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nodes, joined := &register{}, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- sim.Serve(ctx, sim.Backend{Listener: listener, Nodes: watched{nodes, joined}, Now: time.Now,
			Log: slog.New(slog.DiscardHandler)})
	}()
	client, err := sim.NewClient("http://"+listener.Addr().String(), http.DefaultTransport, time.Now)
	require.NoError(t, err)
	m, err := client.Create(t.Context(), ask("std-000", 1))
	require.NoError(t, err)
	<-joined
	require.Equal(t, []string{m.NodeName}, nodes.all())
	stop()
	require.NoError(t, <-done)
	_, err = client.List(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
}

// watched says when the first Node was made.
type watched struct {
	*register
	made chan struct{}
}

func (w watched) CreateNode(ctx context.Context, node *corev1.Node) error {
	err := w.register.CreateNode(ctx, node)
	close(w.made)
	return err
}
