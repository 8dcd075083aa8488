package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/sim"
)

func newSimCommand(stderr io.Writer) *cobra.Command {
	var (
		kubeconfig, listen string
		config             = sim.DefaultConfig()
		logging            logFlags
	)
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run the simulated machine backend as a server of its own",
		Long: `Sim serves an HTTP API for Providers of type sim with an endpoint. A machine that has booted registers a Node,
which kwok can keep alive, so that a whole cluster can be tried without hardware. Machines live in this process only.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logging.logger(stderr)
			if err != nil {
				return err
			}
			return serveSim(cmd.Context(), kubeconfig, listen, config, log)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; it must be allowed to create Nodes")
	fs.StringVar(&listen, "listen", "127.0.0.1:10280", "address of the API")
	fs.Int64Var(&config.Seed, "seed", config.Seed, "what happens to a machine depends on this and its claim only")
	fs.DurationVar(&config.BootMin, "boot-min", config.BootMin, "shortest time from creation to Node")
	fs.DurationVar(&config.BootMedian, "boot-median", config.BootMedian, "median time from creation to Node")
	fs.DurationVar(&config.BootMax, "boot-max", config.BootMax, "longest time from creation to Node")
	fs.DurationVar(&config.Apart, "apart", config.Apart, "how long after one machine's Node the next comes at the earliest, in the order of names; 0: each in its own time")
	fs.DurationVar(&config.DeleteTime, "delete-time", config.DeleteTime, "how long a deletion takes")
	fs.Int32Var(&config.FailCreate, "fail-create", 0, "percentage of creations that are refused")
	fs.Int32Var(&config.Lose, "lose", 0, "percentage of creations that work although their answer is an error")
	fs.Int32Var(&config.NeverJoin, "never-join", 0, "percentage of machines that never register a Node")
	fs.Int32Var(&config.MaxMachines, "max-machines", 0, "how many machines there is room for; 0 is no bound")
	fs.StringVar(&logging.level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&logging.format, "log-format", "text", "text or json")
	return cmd
}

func serveSim(ctx context.Context, kubeconfig, listen string, config sim.Config, log *slog.Logger) error {
	if err := config.Validate(); err != nil {
		return err
	}
	rc, err := restConfig(kubeconfig)
	if err != nil {
		return err
	}
	nodes, err := nodesOf(rc)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	return sim.Serve(ctx, sim.Backend{Listener: l, Config: config, Nodes: nodes, Now: time.Now, Log: log})
}

func nodesOf(rc *rest.Config) (sim.Nodes, error) {
	cs, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for nodes: %w", err)
	}
	return sim.KubeNodes{Client: cs.CoreV1().Nodes()}, nil
}

// simMaker makes backends of type sim: a client where an endpoint is given, else machines inside this process, which
// are gone when it ends.
type simMaker struct {
	ctx  context.Context //nolint:containedctx // the program's life, for the loops of embedded machines
	rest *rest.Config
	log  *slog.Logger
	now  func() time.Time

	mu     sync.Mutex
	clouds map[string]*sim.Cloud
}

func (m *simMaker) make(p *v1alpha1.Provider) (provider.Provider, error) {
	if p.Spec.Endpoint != "" {
		return sim.NewClient(p.Spec.Endpoint, nil, m.now)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if cloud := m.clouds[p.Name]; cloud != nil {
		m.log.Warn("machines inside this process keep the configuration they began with", "provider", p.Name)
		return sim.NewProvider(cloud, m.now), nil
	}
	cloud, err := sim.NewCloud(sim.ConfigOf(p.Spec.Sim))
	if err != nil {
		return nil, err
	}
	nodes, err := nodesOf(m.rest)
	if err != nil {
		return nil, err
	}
	m.clouds[p.Name] = cloud
	joiner := &sim.Joiner{Cloud: cloud, Nodes: nodes, Now: m.now, Log: m.log}
	go joiner.Run(m.ctx)
	return sim.NewProvider(cloud, m.now), nil
}
