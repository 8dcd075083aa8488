package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/capacity/shadow"
	"github.com/muster-sh/muster/extender"
)

const defaultShadowBoot = 2 * time.Minute

// shadowFlags are those of `muster serve` that only look.
type shadowFlags struct {
	on    bool
	pools []string
	nodes []string
	boot  time.Duration
}

func (f *shadowFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.on, "shadow", false,
		"only look: let every pod pass, buy and release nothing, write nothing, and report what would have been done (docs/shadow.md)")
	fs.StringArrayVar(&f.pools, "shadow-pools", nil,
		"FILE[,FILE...] with NodePools and Providers for --shadow: the cluster's own are not read then, and Muster's CRDs need not be there")
	fs.StringArrayVar(&f.nodes, "shadow-nodes", nil,
		"POOL=SELECTOR: judge nodes with these labels as if the pool had bought them, beside those labelled muster.sh/pool (repeatable)")
	fs.DurationVar(&f.boot, "shadow-boot", defaultShadowBoot, "how long machines are taken to need from the order until pods run on them")
}

// selectors are what --shadow-nodes asks for; it refuses flags that make no sense.
func (f *shadowFlags) selectors() ([]shadow.Selector, error) {
	switch {
	case !f.on && (len(f.pools) > 0 || len(f.nodes) > 0):
		return nil, errors.New("--shadow-pools and --shadow-nodes mean nothing without --shadow")
	case !f.on && f.boot != defaultShadowBoot:
		return nil, errors.New("--shadow-boot means nothing without --shadow")
	case f.boot < 0:
		return nil, fmt.Errorf("--shadow-boot %s: must not be negative", f.boot)
	}
	var all []shadow.Selector
	for _, text := range f.nodes {
		s, err := shadow.ParseSelector(text)
		if err != nil {
			return nil, fmt.Errorf("--shadow-nodes %q: %w", text, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// shadowProgram is `muster serve --shadow`: watches, the extender that lets everything pass, and what would be done. It
// has no backend, and its clients can only read.
type shadowProgram struct {
	program
	shadow *shadow.Shadow
}

// serveShadow looks until ctx ends.
func serveShadow(ctx context.Context, f serveFlags, log *slog.Logger) error {
	config, err := prepareServing(f, log)
	if err != nil {
		return err
	}
	p, err := newShadowProgram(f, config, log)
	if err != nil {
		return err
	}
	return p.run(ctx)
}

func newShadowProgram(f serveFlags, config *rest.Config, log *slog.Logger) (*shadowProgram, error) {
	selectors, err := f.shadow.selectors()
	if err != nil {
		return nil, err
	}
	if len(f.guard) == 0 {
		f.guard = []string{corev1.DefaultSchedulerName}
	}
	scheme, err := kube.Scheme()
	if err != nil {
		return nil, err
	}
	p := &shadowProgram{program: program{flags: f, log: log, config: kube.ReadOnly(config), metrics: prometheus.NewRegistry()}}
	p.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p.live = capacity.NewLive(f.schedulers())
	if p.feed, err = kube.NewFeed(p.config, scheme, p.live); err != nil {
		return nil, err
	}
	if err := p.readPools(selectors); err != nil {
		return nil, err
	}
	p.shadow = &shadow.Shadow{
		Live: p.live, Log: log, Batch: f.batch, Effort: f.planEffort, Boot: f.shadow.boot, Nodes: selectors,
	}
	p.metrics.MustRegister(&shadowFigures{report: p.report})
	if err := p.record(); err != nil {
		return nil, err
	}
	return p, nil
}

// readPools takes pools from files instead of the cluster. Selectors must be for one of them.
func (p *shadowProgram) readPools(selectors []shadow.Selector) error {
	if len(p.flags.shadow.pools) == 0 {
		return nil
	}
	run, err := readPolicy(joined(p.flags.shadow.pools))
	if err != nil {
		return fmt.Errorf("--shadow-pools: %w", err)
	}
	for _, s := range selectors {
		if !hasPool(run.pools.Pools, s.Pool) {
			return fmt.Errorf("--shadow-nodes: no NodePool %q in %s", s.Pool, strings.Join(p.flags.shadow.pools, ", "))
		}
	}
	saved := savedCluster{pools: run.pools, cluster: &manifest.Cluster{}}
	saved.takePools(p.live)
	p.feed.Apart = true
	return nil
}

func hasPool(pools []*v1alpha1.NodePool, name string) bool {
	return slices.ContainsFunc(pools, func(p *v1alpha1.NodePool) bool { return p.Name == name })
}

func (p *shadowProgram) report() shadow.Report { return p.shadow.Report(time.Now()) }

// run starts everything and ends with ctx, or when a part fails.
func (p *shadowProgram) run(ctx context.Context) error {
	// Whoever reaches the listener can take nothing: no answer depends on a call.
	calls := extender.Server{Handler: p.handler(), TLS: p.flags.tls, Logger: p.log, Public: true, Grace: grace}
	return p.answer(ctx, calls, p.metricsHandler(), p.feed.Run, p.look)
}

// look begins when the watches are in.
func (p *shadowProgram) look(ctx context.Context) error {
	if p.awaitWatches(ctx) {
		p.log.Info("watches are in: looking, and changing nothing")
		pools := p.live.View().Pools
		for _, s := range p.shadow.Nodes {
			if !hasPool(pools, s.Pool) {
				p.log.Warn("--shadow-nodes is for a NodePool that is not there", "pool", s.Pool)
			}
		}
		p.shadow.Run(ctx)
	}
	return nil
}

func (p *shadowProgram) handler() http.Handler {
	return extender.New(extender.Config{
		Shadow: true, Ready: p.ready, Now: time.Now, Logger: p.log, Registerer: p.metrics, MaxBody: p.flags.maxBody,
		MaxInFlight: p.flags.maxInFlight, Observe: p.observeCall(),
	})
}

// metricsHandler is the program's, and the report beside it.
func (p *shadowProgram) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", p.program.metricsHandler())
	mux.HandleFunc("GET /shadow", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = writeJSON(w, p.report()) // whoever asked is gone
	})
	return mux
}
