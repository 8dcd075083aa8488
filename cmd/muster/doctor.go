package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/sim"
)

// errUnhealthy makes the exit status 1; the findings were printed.
var errUnhealthy = errors.New("machines cannot be made as things are")

func newDoctorCommand(stdout, stderr io.Writer) *cobra.Command {
	var kubeconfig, name string
	cmd := &cobra.Command{
		Use:   "doctor --provider NAME",
		Short: "Try what a Provider needs, and say what to do about what is missing",
		Long: `Doctor reaches the backend of a Provider object with its credentials and looks at permissions, templates, storage,
networks and hosts, and at what each of its pools sets of its own. It changes nothing. It needs the right to read the Provider, its
Secret, and the NodePools.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer cancel()
			end := waitingFor(stderr, "the API server, which is asked for Provider "+name)
			d, err := newPatient(ctx, kubeconfig, name, stderr)
			end()
			if err != nil {
				return err
			}
			defer d.end()
			end = waitingFor(stderr, "Provider "+name+" at "+cmp.Or(d.object.Spec.Endpoint, "its hosts"))
			found := examine(ctx, d.objects, d.object, d.provider)
			end()
			return report(stdout, found)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; KUBECONFIG and ~/.kube/config without one")
	cmd.Flags().StringVar(&name, "provider", "", "name of the Provider object")
	_ = cmd.MarkFlagRequired("provider") // the flag is there: one line above
	return cmd
}

// patient is a Provider object and the backend that was made of it; end logs out of what it reached.
type patient struct {
	objects  client.Reader
	object   *v1alpha1.Provider
	provider provider.Provider
	end      func()
}

func newPatient(ctx context.Context, kubeconfig, name string, stderr io.Writer) (*patient, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme, err := kube.Scheme()
	if err != nil {
		return nil, err
	}
	objects, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	var object v1alpha1.Provider
	if err := objects.Get(ctx, client.ObjectKey{Name: name}, &object); err != nil {
		return nil, apiServerError(config, fmt.Errorf("provider %s: %w", name, err))
	}
	secrets, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for Secrets: %w", err)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	r := &registry{kube: secrets, log: log, now: time.Now,
		sims: &simMaker{ctx: ctx, rest: config, log: log, now: time.Now, clouds: map[string]*sim.Cloud{}}}
	r.hosts = newHostMaker(ctx, objects, secrets, r)
	makeOne, ok := r.makers()[object.Spec.Type]
	if !ok {
		return nil, fmt.Errorf("provider %s: this build has no backend of type %s", name, object.Spec.Type)
	}
	p, err := makeOne(&object)
	if err != nil {
		return nil, fmt.Errorf("provider %s: in its spec: %w", name, err)
	}
	return &patient{objects: objects, object: &object, provider: p, end: r.hosts.end}, nil
}

// report prints findings, and returns an error when one of them keeps machines from being made.
func report(w io.Writer, findings []provider.Finding) error {
	var err error
	for _, f := range findings {
		if f.Level == provider.LevelError {
			err = errUnhealthy
		}
		fmt.Fprintf(w, "%-8s%s: %s\n", f.Level, f.Subject, f.Message)
		if f.Hint != "" {
			fmt.Fprintf(w, "        do: %s\n", f.Hint)
		}
	}
	return err
}
