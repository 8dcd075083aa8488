package shipped

import (
	"fmt"

	"github.com/muster-sh/muster/test/e2e/controlplane"
)

// MusterOptions say how `muster serve` runs.
type MusterOptions struct {
	Name string // of the process and its log
	Logs string // folder
	// Deployment gives account and flags; Flags change or add to them.
	Deployment Deployment
	Flags      []string
}

// Endpoint is where a Muster will serve; it is known before the Muster runs, since the scheduler's configuration, which
// Muster checks, needs it.
type Endpoint struct {
	address, metrics string
	URL              string
}

// NewEndpoint chooses free ports.
func NewEndpoint(tls bool) (Endpoint, error) {
	port, err := controlplane.FreePort()
	if err != nil {
		return Endpoint{}, err
	}
	metrics, err := controlplane.FreePort()
	if err != nil {
		return Endpoint{}, err
	}
	scheme := "http"
	if tls {
		scheme = "https"
	}
	e := Endpoint{address: fmt.Sprintf("127.0.0.1:%d", port), metrics: fmt.Sprintf("127.0.0.1:%d", metrics)}
	e.URL = scheme + "://" + e.address
	return e, nil
}

// StartMuster starts `muster serve` as a shipped Deployment does: its flags, with changes, and its ServiceAccount.
func (k *Kit) StartMuster(e Endpoint, o MusterOptions) (*Service, error) {
	own := append([]string{
		"--kubeconfig=" + o.Deployment.Kubeconfig, "--listen=" + e.address, "--metrics-listen=" + e.metrics,
		"--log-format=json", "--log-level=debug",
	}, o.Flags...)
	return startService(controlplane.Command{
		Name: o.Name, Path: k.program, Dir: o.Logs,
		Args: append([]string{"serve"}, withFlags(o.Deployment.Muster, own...)...),
	}, Service{URL: e.URL, MetricsURL: "http://" + e.metrics, Health: "http://" + e.metrics + "/readyz"})
}
