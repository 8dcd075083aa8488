package stage

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/test/e2e/recorder"
	"github.com/muster-sh/muster/test/e2e/shipped"
)

// Replica is one pod of the shipped Deployment: a Muster and the kube-scheduler beside it.
type Replica struct {
	Muster    *shipped.Service
	Scheduler *shipped.Service
	name      string
	stage     *Stage
}

// ReplicaOptions change what deploy/ ships. The zero value changes nothing.
type ReplicaOptions struct {
	Name   string                                                // host name of the pod; "replica" if empty
	Config func(shipped.SchedulerConfig) shipped.SchedulerConfig // last change to the scheduler's configuration
	Flags  []string                                              // of Muster, beside the shipped ones
	Record *recorder.Recorder                                    // stands between the two
}

// Place starts a replica in place mode and waits until its Muster is ready and its scheduler serves.
func (s *Stage) Place(o ReplicaOptions) *Replica {
	s.T.Helper()
	if o.Name == "" {
		o.Name = "replica"
	}
	endpoint, err := shipped.NewEndpoint(false)
	require.NoError(s.T, err)
	config, err := shipped.LoadSchedulerConfig(s.Kit.Placed.SchedulerConfigFile,
		shipped.Wiring{Kubeconfig: s.Kit.Placed.Kubeconfig, Extender: s.between(endpoint.URL, o.Record, nil)})
	require.NoError(s.T, err)
	if o.Config != nil {
		config = o.Config(config)
	}
	file := filepath.Join(s.Logs, o.Name+"-checked.yaml")
	require.NoError(s.T, config.Write(file))
	r := &Replica{name: o.Name, stage: s}
	r.Muster, err = s.Kit.StartMuster(endpoint, shipped.MusterOptions{
		Name: o.Name + "-muster", Logs: s.Logs, Deployment: s.Kit.Placed,
		Flags: append([]string{"--scheduler-config=" + file, "--scheduler-hostname=" + o.Name}, o.Flags...),
	})
	s.serves(r.Muster, err)
	r.Scheduler, err = s.Kit.StartScheduler(shipped.SchedulerOptions{
		Name: o.Name + "-scheduler", Logs: s.Logs, Config: config, Hostname: o.Name, Flags: s.Kit.Placed.Scheduler, Env: s.Kit.Placed.SchedulerEnv,
	})
	s.serves(r.Scheduler, err)
	return r
}

// Guarded is an existing scheduler with a guard-mode Muster as its extender. The two know each other by certificates.
func (s *Stage) Guarded(o ReplicaOptions) *Replica {
	s.T.Helper()
	return s.called("guard", s.Kit.Guard, o)
}

// Shadowed is an existing scheduler with a Muster that only looks.
func (s *Stage) Shadowed(flags ...string) *shipped.Service {
	s.T.Helper()
	return s.called("shadow", s.Kit.Shadow, ReplicaOptions{Flags: flags}).Muster
}

// called starts a Muster, and a scheduler that calls it over mutual TLS.
func (s *Stage) called(name string, d shipped.Deployment, o ReplicaOptions) *Replica {
	s.T.Helper()
	endpoint, err := shipped.NewEndpoint(true)
	require.NoError(s.T, err)
	server, err := s.Plane.CA.Issue(s.Namespace+"-muster", "muster")
	require.NoError(s.T, err)
	caller, err := s.Plane.CA.Issue(s.Namespace+"-scheduler", "kube-scheduler")
	require.NoError(s.T, err)
	config, err := shipped.LoadSchedulerConfig(d.SchedulerConfigFile, shipped.Wiring{
		Kubeconfig: s.Plane.SchedulerKubeconfig, Extender: s.between(endpoint.URL, o.Record, &mutual{server, caller}),
		CA: s.Plane.CA.CAFile, Cert: caller.CertFile, Key: caller.KeyFile,
	})
	require.NoError(s.T, err)
	r := &Replica{name: name, stage: s}
	r.Muster, err = s.Kit.StartMuster(endpoint, shipped.MusterOptions{
		Name: name + "-muster", Logs: s.Logs, Deployment: d,
		Flags: append([]string{
			"--tls-cert-file=" + server.CertFile, "--tls-private-key-file=" + server.KeyFile,
			"--client-ca-file=" + s.Plane.CA.CAFile,
		}, o.Flags...),
	})
	s.serves(r.Muster, err)
	r.Scheduler, err = s.Kit.StartScheduler(shipped.SchedulerOptions{
		Name: name + "-scheduler", Logs: s.Logs, Config: config.WithoutLeaderElection(),
	})
	s.serves(r.Scheduler, err)
	return r
}

// Stock starts a scheduler that knows nothing of Muster, for the pods of everybody else.
func (s *Stage) Stock() *shipped.Service { return s.StockNamed("stock-scheduler") }

// StockNamed is Stock with a name for its files, where a story starts more than one.
func (s *Stage) StockNamed(name string) *shipped.Service {
	s.T.Helper()
	service, err := s.Kit.StartScheduler(shipped.SchedulerOptions{Name: name, Logs: s.Logs, Config: s.Kit.StockConfig()})
	s.serves(service, err)
	return service
}

// serves waits for a process that has just been started and sees to its end.
func (s *Stage) serves(service *shipped.Service, err error) {
	s.T.Helper()
	require.NoError(s.T, err)
	s.services = append(s.services, service)
	s.ready(service)
}

func (s *Stage) ready(service *shipped.Service) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, time.Minute)
	defer cancel()
	require.NoError(s.T, service.AwaitReady(ctx))
}

// Crash kills Muster as a power cut would and starts it again at once. It does not wait until it is ready.
func (r *Replica) Crash() {
	r.stage.T.Helper()
	r.Muster.Kill()
	require.NoError(r.stage.T, r.Muster.Start())
}

// KillPod ends both processes at once.
func (r *Replica) KillPod() {
	r.Scheduler.Kill()
	r.Muster.Kill()
}

// PausePod freezes both processes.
func (r *Replica) PausePod() {
	r.Scheduler.Pause()
	r.Muster.Pause()
}

// ResumePod wakes both.
func (r *Replica) ResumePod() {
	r.Muster.Resume()
	r.Scheduler.Resume()
}

// Revive starts again what has ended, as the kubelet would, and waits until it is ready.
func (r *Replica) Revive() {
	r.stage.T.Helper()
	for _, service := range []*shipped.Service{r.Muster, r.Scheduler} {
		if !service.Running() {
			require.NoError(r.stage.T, service.Start())
		}
		r.stage.ready(service)
	}
}

// Leads says, by the scheduler's lease, whether this replica leads.
func (s *Stage) Leads(r *Replica) error {
	lease, err := s.Plane.Client.CoordinationV1().Leases("kube-system").Get(s.Ctx, "muster-scheduler", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if lease.Spec.HolderIdentity == nil || !strings.HasPrefix(*lease.Spec.HolderIdentity, r.name+"_") {
		return fmt.Errorf("the lease is held by %v", lease.Spec.HolderIdentity)
	}
	return nil
}
