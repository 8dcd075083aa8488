package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/extender"
	"github.com/muster-sh/muster/provider/sim"
	"github.com/muster-sh/muster/replay/recording"
)

// serve wires the parts and runs them until ctx ends or one of them fails.
func serve(ctx context.Context, f serveFlags, log *slog.Logger) error {
	config, err := prepareServing(f, log)
	if err != nil {
		return err
	}
	p, err := newProgram(ctx, f, config, log)
	if err != nil {
		return err
	}
	return p.run(ctx)
}

// program is `muster serve`, wired.
type program struct {
	flags    serveFlags
	log      *slog.Logger
	config   *rest.Config
	live     *capacity.Live
	feed     *kube.Feed
	events   *kube.Events
	lead     *kube.Lead
	settle   *kube.Settle
	loops    *control.Loops
	backends *backends
	hosts    *hostMaker
	metrics  *prometheus.Registry
	verdicts verdicts
	recorder *recording.Writer // nil where nothing is recorded
	clock    *control.Clock
}

func newProgram(ctx context.Context, f serveFlags, config *rest.Config, log *slog.Logger) (*program, error) {
	scheme, err := kube.Scheme()
	if err != nil {
		return nil, err
	}
	clock := control.StartClock()
	p := &program{flags: f, log: log, config: config, lead: &kube.Lead{Now: clock.Now}, metrics: prometheus.NewRegistry(), clock: clock}
	p.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &p.verdicts)
	p.metrics.MustRegister(clockOffset(clock))
	p.live = capacity.NewLive(f.schedulers())
	p.lead.Renewed = p.live.SchedulerSeen
	p.settle = &kube.Settle{Live: p.live, Lead: p.lead, Wait: f.settle}
	if p.feed, err = kube.NewFeed(config, scheme, p.live); err != nil {
		return nil, err
	}
	p.feed.Now = clock.Now
	if p.events, err = kube.NewEvents(config, scheme); err != nil {
		return nil, err
	}
	cluster, err := kube.NewCluster(config, scheme, p.events, f.namespace)
	if err != nil {
		return nil, err
	}
	cluster.Now = clock.Now
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for Secrets: %w", err)
	}
	registry := &registry{kube: clients, log: log, now: clock.Now, pve: newProxmoxMetrics(p.metrics),
		sims: &simMaker{ctx: ctx, rest: config, log: log, now: clock.Now, clouds: map[string]*sim.Cloud{}}}
	if err := p.keepHosts(ctx, registry, scheme, cluster); err != nil {
		return nil, err
	}
	p.backends = newBackends(p.live, p.metrics, registry.makers())
	p.backends.warn = func(about *v1alpha1.Provider, reason, message string) {
		cluster.Event(control.Subject{Kind: "Provider", PodReference: v1alpha1.PodReference{Name: about.Name, UID: about.UID}},
			true, reason, message)
	}
	if err := p.record(); err != nil {
		return nil, err
	}
	p.loops = newLoops(p, cluster)
	p.hosts.gate = p.loops.Claims.Gate
	p.feed.OnClaim, p.feed.OnNode = p.loops.Wake, p.loops.WakeNode
	return p, nil
}

// clockOffset says how far the wall clock has been set since the program started.
func clockOffset(c *control.Clock) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_clock_offset_seconds", Help: "How far the computer's clock was set ahead since Muster started.",
	}, func() float64 { return c.Offset(time.Now()).Seconds() })
}

// keepHosts prepares what powers bare metal. It begins with the first Provider of such a type.
func (p *program) keepHosts(ctx context.Context, r *registry, scheme *runtime.Scheme, cluster *kube.Cluster) error {
	c, err := client.New(p.config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make a client for hosts: %w", err)
	}
	p.hosts = newHostMaker(ctx, c, r.kube, r)
	p.hosts.nodes, p.hosts.live, p.hosts.leading, p.hosts.record = p.feed, p.live, p.leading, cluster.Event
	p.hosts.metrics = newHostMetrics(p.metrics)
	r.hosts = p.hosts
	return nil
}

func newLoops(p *program, cluster *kube.Cluster) *control.Loops {
	metrics := newMetrics(p.metrics, p.live)
	teller := &control.Teller{Kube: cluster, Log: p.log, Burst: 100, Every: 100 * time.Millisecond}
	gate := &control.Gate{Live: p.live, Kube: cluster, Backends: p.backends, Log: p.log, Now: p.clock.Now, Observe: func(j control.Judgement) {
		metrics.observeGate(j)
		p.recordJudgement(j)
	}}
	preemptor := newPreemptor(p, cluster, teller, gate)
	release := &control.Reaper{Live: p.live, Kube: cluster, Log: p.log, Decide: reaper.Decide, Definitions: cluster, Observe: p.verdicts.hear}
	return &control.Loops{
		Live: p.live, Log: p.log, Clock: p.clock, Workers: 16, Teller: teller, Preemptor: preemptor,
		Claims: &control.Claims{
			Live: p.live, Kube: cluster, Nodes: p.feed, Backends: p.backends, Log: p.log, Now: p.clock.Now,
			Gate: gate, Leading: p.leading, Settled: p.settled, Definitions: cluster,
		},
		Planner: &control.Planner{
			Live: p.live, Kube: cluster, Teller: teller, Log: p.log, Batch: p.flags.batch, Effort: p.flags.planEffort, Parallel: 8,
			Settled: p.settled, Observe: metrics.observePass, Preemptor: preemptor, Reopen: release.Reopen,
		},
		Reaper:  release,
		Freezes: &control.Freezes{Live: p.live, Kube: cluster, Log: p.log},
		Holds:   &control.Holds{Live: p.live, Kube: cluster, Log: p.log, Age: 30 * time.Second},
		Providers: &control.Providers{
			Live: p.live, Kube: cluster, Backends: p.backends, Log: p.log, Machines: metrics.observeMachines,
			Keeper: &control.Keeper{
				Live: p.live, Kube: cluster, Nodes: p.feed, Backends: p.backends, Gate: gate, Log: p.log, Leading: p.leading,
				Standings: metrics.observeOrphans, Removed: metrics.orphanRemoved, Repaired: metrics.nodeRepaired, Restarted: metrics.nodeRestarted,
			},
		},
	}
}

// run starts everything. The extender and the watches run in every replica; the loops run where this process leads.
func (p *program) run(ctx context.Context) error {
	defer p.hosts.end()
	calls := extender.Server{Handler: p.handler(), TLS: p.flags.tls, Logger: p.log, Grace: grace}
	return p.answer(ctx, calls, p.metricsHandler(), p.feed.Run, p.events.Run, p.follow)
}

func (p *program) handler() http.Handler {
	return extender.New(extender.Config{
		Core: p.live, Ready: p.ready, Settled: p.settled, Now: p.clock.Now,
		Logger: p.log, Registerer: p.metrics, MaxBody: p.flags.maxBody, MaxInFlight: p.flags.maxInFlight,
		Observe: p.observeCall(),
	})
}

func (p *program) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics, promhttp.HandlerOpts{}))
	mux.Handle("GET /nodes", &p.verdicts)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	if p.flags.profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func (p *program) leading() bool {
	_, ok := p.lead.Since(p.clock.Now())
	return ok
}

func (p *program) settled() error { return p.settle.Err(p.clock.Now()) }

// ready is nil when the watches are in.
func (p *program) ready() error { return p.feed.Err() }

// awaitWatches returns false when ctx ends first. What is missing is logged now and then: without a right that it needs,
// Muster waits forever.
func (p *program) awaitWatches(ctx context.Context) bool {
	complain := time.NewTicker(10 * time.Second)
	defer complain.Stop()
	for !p.feed.Synced() {
		select {
		case <-ctx.Done():
			return false
		case <-complain.C:
			p.log.Warn("not ready", "reason", p.feed.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return true
}

// follow runs the loops while this process leads. It begins when the watches are in: whoever acts must have seen.
func (p *program) follow(ctx context.Context) error {
	cs, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return fmt.Errorf("make a client for the lease: %w", err)
	}
	if !p.awaitWatches(ctx) {
		return nil
	}
	p.log.Info("watches are in")
	if !p.identify(ctx, cs) {
		return nil
	}
	if p.flags.leader == leaderScheduler {
		lease, err := namespacedName(p.flags.schedulerLease)
		if err != nil {
			return err
		}
		return p.lead.FollowScheduler(ctx, cs, lease, p.flags.schedulerHostname, p.log, p.loops.Run)
	}
	lease, err := namespacedName(p.flags.lease)
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this replica: %w", err)
	}
	identity := fmt.Sprintf("%s_%d", hostname, os.Getpid())
	return p.lead.Elect(ctx, cs, lease, identity, p.loops.Run)
}
