package extender

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 5 * time.Second
	writeTimeout      = 30 * time.Second
	// idleTimeout is longer than the 90 s after which kube-scheduler's client drops an idle connection: were we the first
	// to close it, a call just being sent would fail, and a POST is not repeated.
	idleTimeout    = 3 * time.Minute
	maxHeaderBytes = 64 << 10
)

// Server says how to serve.
type Server struct {
	Handler http.Handler
	TLS     TLSFiles
	Logger  *slog.Logger
	// Public says that anybody may ask what is served, so that an open listener is no reason for a warning.
	Public bool
	// Grace is how long calls may finish after the end was asked for.
	Grace time.Duration
}

// Serve answers on l until ctx ends, then lets running calls finish. It closes l. The error is nil after such an end.
func (s Server) Serve(ctx context.Context, l net.Listener) error {
	config, err := s.TLS.config(s.Logger)
	if err != nil {
		_ = l.Close()
		return err
	}
	if !s.Public && s.TLS.ClientCA == "" && !loopback(l.Addr()) {
		s.Logger.Warn("the listener is open to the network and asks for no client certificate: "+
			"anybody who reaches it can take room for pods that do not exist", "address", l.Addr().String())
	}
	server := &http.Server{
		Handler: s.Handler, TLSConfig: config,
		ReadHeaderTimeout: readHeaderTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	go func() { done <- run(server, l, config) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return s.shutDown(ctx, server)
}

func run(server *http.Server, l net.Listener, config *tls.Config) error {
	if config == nil {
		return server.Serve(l)
	}
	return server.ServeTLS(l, "", "")
}

// shutDown waits for running calls as long as Grace allows, then cuts them off.
func (s Server) shutDown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("finish running calls: %w", err), server.Close())
	}
	return nil
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
