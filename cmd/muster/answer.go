package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-sh/muster/extender"
)

// grace is how long calls under way may finish at the end.
const grace = 5 * time.Second

// answer runs parts, with calls of schedulers and looks at metrics answered beside them, until ctx ends or one of them
// fails. An address that cannot be had is known before anything begins.
func (p *program) answer(ctx context.Context, calls extender.Server, metrics http.Handler, parts ...func(context.Context) error) error {
	listener, err := net.Listen("tcp", p.flags.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	metricsListener, err := net.Listen("tcp", p.flags.metrics)
	if err != nil {
		_ = listener.Close() // nobody was answered
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	if p.recorder != nil {
		parts = append(parts, p.recorder.Run)
	}
	for _, run := range parts {
		group.Go(func() error { return run(ctx) })
	}
	group.Go(func() error { return calls.Serve(ctx, listener) })
	group.Go(func() error {
		s := extender.Server{Handler: metrics, Logger: p.log, Public: true, Grace: grace}
		return s.Serve(ctx, metricsListener)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return apiServerError(p.config, err)
	}
	return nil
}
