package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Backend is what Serve needs.
type Backend struct {
	Listener net.Listener
	Config   Config
	Nodes    Nodes
	Now      func() time.Time
	Log      *slog.Logger
}

// Serve runs the simulated backend as a server until ctx is done, then closes its listener. Calls that are under way get
// two seconds to end.
func Serve(ctx context.Context, b Backend) error {
	cloud, err := NewCloud(b.Config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { (&Joiner{Cloud: cloud, Nodes: b.Nodes, Now: b.Now, Log: b.Log}).Run(ctx) })

	server := &http.Server{Handler: NewServer(cloud, b.Now), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	running.Go(func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(end)
	})
	b.Log.Info("the simulated backend listens", "address", b.Listener.Addr().String())
	err = server.Serve(b.Listener)
	stop()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", b.Listener.Addr(), err)
	}
	return nil
}
