package stage

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/test/e2e/recorder"
	"github.com/muster-sh/muster/test/e2e/shipped"
)

// Replica is one pod of the shipped Deployment: a Muster and the kube-scheduler beside it.
type Replica struct {
	Muster    *shipped.Service
	Scheduler *shipped.Service
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
	config, err := shipped.LoadSchedulerConfig(filepath.Join(s.Plane.Tree.Root, "deploy/place/scheduler-config.yaml"),
		shipped.Wiring{Kubeconfig: s.Kit.Kubeconfig, Extender: s.between(endpoint.URL, o.Record)})
	require.NoError(s.T, err)
	if o.Config != nil {
		config = o.Config(config)
	}
	file := filepath.Join(s.Logs, o.Name+"-checked.yaml")
	require.NoError(s.T, config.Write(file))
	r := &Replica{stage: s}
	r.Muster, err = s.Kit.StartMuster(endpoint, shipped.MusterOptions{
		Name: o.Name + "-muster", Logs: s.Logs, Shipped: true,
		Flags: append([]string{"--scheduler-config=" + file, "--scheduler-hostname=" + o.Name}, o.Flags...),
	})
	s.serves(r.Muster, err)
	r.Scheduler, err = s.Kit.StartScheduler(shipped.SchedulerOptions{
		Name: o.Name + "-scheduler", Logs: s.Logs, Config: config, Hostname: o.Name, Flags: s.Kit.SchedulerFlags(),
	})
	s.serves(r.Scheduler, err)
	return r
}

// between puts the recorder, if there is one, into the way and returns the URL to call.
func (s *Stage) between(target string, r *recorder.Recorder) string {
	if r == nil {
		return target
	}
	u, err := url.Parse(target)
	require.NoError(s.T, err)
	r.Forward(u)
	front := httptest.NewServer(http.HandlerFunc(r.ServeHTTP))
	s.T.Cleanup(front.Close)
	return front.URL
}

// Guarded is an existing scheduler with a guard-mode Muster as its extender.
func (s *Stage) Guarded(flags ...string) *Replica {
	s.T.Helper()
	endpoint, err := shipped.NewEndpoint(true)
	require.NoError(s.T, err)
	server, err := s.Plane.CA.Issue(s.Namespace+"-muster", "muster")
	require.NoError(s.T, err)
	caller, err := s.Plane.CA.Issue(s.Namespace+"-scheduler", "kube-scheduler")
	require.NoError(s.T, err)
	config, err := shipped.LoadSchedulerConfig(filepath.Join(s.Plane.Tree.Root, "deploy/guard/scheduler-config.yaml"), shipped.Wiring{
		Kubeconfig: s.Plane.SchedulerKubeconfig, Extender: endpoint.URL,
		CA: s.Plane.CA.CAFile, Cert: caller.CertFile, Key: caller.KeyFile,
	})
	require.NoError(s.T, err)
	r := &Replica{stage: s}
	r.Muster, err = s.Kit.StartMuster(endpoint, shipped.MusterOptions{Name: "guard-muster", Logs: s.Logs, Flags: append([]string{
		"--guard-scheduler=default-scheduler", "--leader=lease",
		"--tls-cert-file=" + server.CertFile, "--tls-private-key-file=" + server.KeyFile, "--client-ca-file=" + s.Plane.CA.CAFile,
	}, flags...)})
	s.serves(r.Muster, err)
	r.Scheduler, err = s.Kit.StartScheduler(shipped.SchedulerOptions{
		Name: "guard-scheduler", Logs: s.Logs, Config: config.WithoutLeaderElection(),
	})
	s.serves(r.Scheduler, err)
	return r
}

// Stock starts a scheduler that knows nothing of Muster, for the pods of everybody else.
func (s *Stage) Stock() *shipped.Service {
	s.T.Helper()
	service, err := s.Kit.StartScheduler(shipped.SchedulerOptions{Name: "stock-scheduler", Logs: s.Logs, Config: s.Kit.StockConfig()})
	s.serves(service, err)
	return service
}

// serves waits for a process that has just been started and sees to its end.
func (s *Stage) serves(service *shipped.Service, err error) {
	s.T.Helper()
	require.NoError(s.T, err)
	s.services = append(s.services, service)
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
