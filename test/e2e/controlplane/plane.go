package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// bootDeadline is generous: 5 s is usual on two idle cores.
const bootDeadline = 90 * time.Second

// Plane is a running control plane.
type Plane struct {
	Tree Tree
	CA   *Authority
	// Logs is the folder of the log files; Keep leaves it behind.
	Logs string

	// AdminKubeconfig is for the stories themselves and for the simulated machines, never for the product.
	AdminKubeconfig string
	// SchedulerKubeconfig is for a scheduler that was there before Muster.
	SchedulerKubeconfig string
	Admin               *rest.Config
	Client              kubernetes.Interface
	Objects             client.WithWatch // typed access to Muster's own objects too

	dir                   string
	controllersKubeconfig string
	ports                 ports
	programs              struct{ kube, etcd, kwok string }
	processes             []*Process
	keep                  bool
}

// Start boots a control plane and waits until it serves and its controllers work. The logs go below logs, in a new
// folder.
func Start(ctx context.Context, logs string) (*Plane, error) {
	ctx, cancel := context.WithTimeout(ctx, bootDeadline)
	defer cancel()
	p, err := prepare(logs)
	if err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	if err := p.boot(ctx); err != nil {
		p.Keep()
		p.Stop()
		return nil, fmt.Errorf("control plane: %w", err)
	}
	return p, nil
}

// prepare makes folders, keys and ports; it starts nothing.
func prepare(logs string) (p *Plane, err error) {
	p = &Plane{Logs: logs}
	if p.Tree, err = FindTree(); err != nil {
		return nil, err
	}
	programs := map[string]*string{"kube": &p.programs.kube, "etcd": &p.programs.etcd, "kwok": &p.programs.kwok}
	for name, file := range programs {
		if *file, err = p.Tree.Program(name); err != nil {
			return nil, err
		}
	}
	if p.ports, err = newPorts(); err != nil {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "muster-e2e-"); err != nil {
		return nil, err
	}
	if p.CA, err = NewAuthority(p.dir); err != nil {
		return nil, err
	}
	if p.AdminKubeconfig, err = p.userKubeconfig("admin", "admin", "system:masters"); err != nil {
		return nil, err
	}
	if p.SchedulerKubeconfig, err = p.userKubeconfig("scheduler", "system:kube-scheduler"); err != nil {
		return nil, err
	}
	p.controllersKubeconfig, err = p.userKubeconfig("controllers", "system:kube-controller-manager")
	return p, errors.Join(err, p.connect())
}

func (p *Plane) connect() (err error) {
	if p.Admin, err = clientcmd.BuildConfigFromFlags("", p.AdminKubeconfig); err != nil {
		return err
	}
	p.Admin.QPS = -1                    // the stories are the load; their own client must not slow it
	compact := rest.CopyConfig(p.Admin) // Kubernetes' own kinds have a shorter form than JSON
	compact.ContentType, compact.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	if p.Client, err = kubernetes.NewForConfig(compact); err != nil {
		return err
	}
	return v1alpha1.AddToScheme(clientgoscheme.Scheme) // Objects is made in boot: it asks the API server for its kinds
}

func (p *Plane) boot(ctx context.Context) error {
	server, err := p.CA.Issue("apiserver", "kube-apiserver")
	if err != nil {
		return err
	}
	accounts, err := p.CA.Issue("accounts", "service-accounts")
	if err != nil {
		return err
	}
	if err := p.run(p.etcdCommand(), p.apiserverCommand(server, accounts)); err != nil {
		return err
	}
	if err := p.await(ctx, "the API server", p.apiserverReady); err != nil {
		return err
	}
	if err := p.run(p.controllersCommand(accounts), p.kwokCommand()); err != nil {
		return err
	}
	if p.Objects, err = client.NewWithWatch(p.Admin, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return err
	}
	if err := p.await(ctx, "the controllers", p.controllersReady); err != nil {
		return err
	}
	return p.await(ctx, "kwok", p.kwokReady)
}

func (p *Plane) run(commands ...Command) error {
	for _, c := range commands {
		process, err := Run(c)
		if err != nil {
			return err
		}
		p.processes = append(p.processes, process)
	}
	return nil
}

// Keep leaves the log folder behind when the control plane stops: something failed.
func (p *Plane) Keep() { p.keep = true }

// Failed reports a process of the control plane that ended by itself.
func (p *Plane) Failed() error {
	for _, process := range p.processes {
		if !process.Running() {
			return process.Failure()
		}
	}
	return nil
}

// Stop ends all processes, the newest first, and removes what is not to be kept.
func (p *Plane) Stop() {
	for i := len(p.processes) - 1; i >= 0; i-- {
		p.processes[i].Kill() // nothing in them is worth a graceful end, and the API server would take its time
	}
	_ = os.RemoveAll(p.dir)
	if !p.keep {
		_ = os.RemoveAll(p.Logs)
	}
}

// Path is a file name in the control plane's private folder, which goes when it stops.
func (p *Plane) Path(name string) string { return filepath.Join(p.dir, name) }
