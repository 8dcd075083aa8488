package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/extender"
	"github.com/muster-sh/muster/policy"
)

// serveFlags is what the operator said.
type serveFlags struct {
	kubeconfig        string
	listen, metrics   string
	tls               extender.TLSFiles
	place, guard      []string
	schedulerConfig   string
	leader            string
	schedulerLease    string
	schedulerHostname string
	lease             string
	namespace         string
	settle            time.Duration
	batch             policy.Batch
	planEffort        int64
	preemption        bool
	maxInFlight       int
	maxBody           int64
	profiling         bool
	log               logFlags
	record            recordFlags
	shadow            shadowFlags
}

func newServeCommand(stderr io.Writer) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the extender, the planner, the claims' lifecycle and the reaper",
		Long: `Serve answers kube-scheduler under /place (Muster finds the node) and /guard (Muster only vetoes nodes that are
starting or being released), and, where it leads, buys machines for pods without room and releases idle ones.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := f.log.logger(stderr)
			if err != nil {
				return err
			}
			if err := f.validate(); err != nil {
				return err
			}
			if err := f.checkSchedulerConfig(log); err != nil {
				return err
			}
			if f.shadow.on {
				return serveShadow(cmd.Context(), f, log)
			}
			return serve(cmd.Context(), f, log)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *serveFlags) register(cmd *cobra.Command) {
	hostname, _ := os.Hostname() // without one, --scheduler-hostname must be given; validate says so
	fs := cmd.Flags()
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; in a pod, its ServiceAccount is used without one")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:10270", "address of the extender")
	fs.StringVar(&f.metrics, "metrics-listen", "127.0.0.1:10271", "address of /metrics, /healthz and /readyz")
	fs.StringVar(&f.tls.Cert, "tls-cert-file", "", "server certificate of the extender (PEM); reloaded when it changes")
	fs.StringVar(&f.tls.Key, "tls-private-key-file", "", "its private key (PEM)")
	fs.StringVar(&f.tls.ClientCA, "client-ca-file", "", "only clients with a certificate of this CA (PEM) are answered")
	fs.StringSliceVar(&f.place, "place-scheduler", []string{"muster"}, "schedulerName of pods that Muster places (repeatable)")
	fs.StringSliceVar(&f.guard, "guard-scheduler", nil,
		"schedulerName of pods that Muster only buys for when their scheduler finds them unschedulable (repeatable)")
	fs.StringVar(&f.schedulerConfig, "scheduler-config", "",
		"KubeSchedulerConfiguration of the place scheduler; refused when it would leave nobody checking room")
	fs.StringVar(&f.leader, "leader", leaderScheduler,
		"scheduler: lead where the scheduler of this pod holds its lease; lease: lead by a lease of Muster's own")
	fs.StringVar(&f.schedulerLease, "scheduler-lease", "kube-system/muster-scheduler", "the scheduler's lease (namespace/name)")
	fs.StringVar(&f.schedulerHostname, "scheduler-hostname", hostname, "hostname by which the scheduler holds its lease")
	fs.StringVar(&f.lease, "lease", "muster-system/muster", "Muster's own lease (namespace/name)")
	fs.StringVar(&f.namespace, "namespace", ownNamespace(),
		"Muster's namespace: the ConfigMap muster-freeze in it stops releases and provisioning (docs/freeze.md); in a pod, its own")
	fs.DurationVar(&f.settle, "settle", 5*time.Second,
		"after a start or a change of the lead, answer no place filter until nothing unknown was bound for this long")
	fs.DurationVar(&f.batch.Idle, "batch-idle", policy.DefaultBatch.Idle, "plan when no new pod lacked room for this long")
	fs.DurationVar(&f.batch.Max, "batch-max", policy.DefaultBatch.Max, "plan at the latest this long after the first such pod")
	fs.Int64Var(&f.planEffort, "plan-effort", defaultPlanEffort,
		"most looks at a pod on a machine in one plan; pods it does not get to come first in the next (0: no bound)")
	fs.BoolVar(&f.preemption, "preemption", true,
		"evict pods of lower priority for pods of the place schedulers for which no pool may grow; a pool may opt out by spec.preemption")
	fs.IntVar(&f.maxInFlight, "max-in-flight", extender.DefaultMaxInFlight, "extender calls at a time; more are refused")
	fs.Int64Var(&f.maxBody, "max-body", extender.DefaultMaxBody, "largest extender request in bytes")
	fs.BoolVar(&f.profiling, "profiling", false, "serve /debug/pprof/ beside /metrics, for go tool pprof")
	f.record.register(cmd)
	f.shadow.register(cmd)
	fs.StringVar(&f.log.level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.log.format, "log-format", "text", "text or json")
}

// defaultPlanEffort takes one core between 4 and 15 s.
const defaultPlanEffort = 20_000_000

const (
	leaderScheduler = "scheduler"
	leaderLease     = "lease"
)

func (f *serveFlags) validate() error {
	if f.leader != leaderScheduler && f.leader != leaderLease {
		return fmt.Errorf("--leader %q: use %s or %s", f.leader, leaderScheduler, leaderLease)
	}
	if f.leader == leaderScheduler && f.schedulerHostname == "" {
		return fmt.Errorf("--scheduler-hostname is empty: give the hostname of the scheduler in this pod")
	}
	if f.settle < 0 {
		return fmt.Errorf("--settle %s: must not be negative", f.settle)
	}
	if err := f.checkSchedulers(); err != nil {
		return err
	}
	if f.maxInFlight < 1 || f.maxBody < 1 {
		return fmt.Errorf("--max-in-flight %d and --max-body %d: must be at least 1", f.maxInFlight, f.maxBody)
	}
	if f.planEffort < 0 {
		return fmt.Errorf("--plan-effort %d: must not be negative", f.planEffort)
	}
	if err := f.tls.Check(); err != nil {
		return fmt.Errorf("--tls-cert-file, --tls-private-key-file, --client-ca-file: %w", err)
	}
	if err := f.record.check(); err != nil {
		return err
	}
	if _, err := f.shadow.selectors(); err != nil {
		return err
	}
	if err := f.batch.Validate(); err != nil {
		return fmt.Errorf("--batch-idle, --batch-max: %w", err)
	}
	if _, err := namespacedName(f.schedulerLease); err != nil {
		return fmt.Errorf("--scheduler-lease %q: %w", f.schedulerLease, err)
	}
	if _, err := namespacedName(f.lease); err != nil {
		return fmt.Errorf("--lease %q: %w", f.lease, err)
	}
	if err := checkNamespace(f.namespace); err != nil {
		return err
	}
	return nil
}

// checkSchedulers refuses names that no pod can have, and having none at all.
func (f *serveFlags) checkSchedulers() error {
	if len(f.place)+len(f.guard) == 0 && !f.shadow.on { // a shadow has a default of its own
		return errors.New("--place-scheduler and --guard-scheduler are both empty: no pod would be Muster's business; use a schedulerName, for example muster")
	}
	if slices.Contains(f.place, "") || slices.Contains(f.guard, "") {
		return errors.New("--place-scheduler, --guard-scheduler: the name of a scheduler is empty: use its schedulerName, for example muster")
	}
	if both := sets.New(f.place...).Intersection(sets.New(f.guard...)); both.Len() > 0 {
		return fmt.Errorf("--place-scheduler and --guard-scheduler both name %s", strings.Join(sets.List(both), ", "))
	}
	return nil
}

// checkSchedulerConfig refuses a configuration that would leave nobody checking room, and warns about what only hurts.
func (f *serveFlags) checkSchedulerConfig(log *slog.Logger) error {
	if f.schedulerConfig == "" {
		return nil
	}
	data, err := os.ReadFile(f.schedulerConfig)
	if err != nil {
		return fmt.Errorf("--scheduler-config: %w", err)
	}
	problems, err := extender.CheckSchedulerConfig(data, extender.SchedulerNames{Place: sets.New(f.place...), Guard: sets.New(f.guard...)})
	if err != nil {
		return fmt.Errorf("--scheduler-config %s: %w", f.schedulerConfig, err)
	}
	for _, p := range problems {
		if !p.Refused {
			log.Warn("scheduler configuration", "file", f.schedulerConfig, "problem", p.String())
		}
	}
	if err := extender.Refusals(problems); err != nil {
		return fmt.Errorf("--scheduler-config %s:\n%w", f.schedulerConfig, err)
	}
	return nil
}

func (f *serveFlags) schedulers() capacity.Schedulers {
	return capacity.Schedulers{Place: sets.New(f.place...), Guard: sets.New(f.guard...)}
}

// namespacedName reads what an object of the API can be called.
func namespacedName(s string) (types.NamespacedName, error) {
	namespace, name, _ := strings.Cut(s, "/")
	if len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0 {
		return types.NamespacedName{}, errors.New("use namespace/name, in lower case letters, digits and dashes")
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
