package shipped

import (
	"fmt"

	"github.com/muster-sh/muster/test/e2e/controlplane"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// Sim is the simulated machine backend as a process of its own: it outlives every Muster of a story.
type Sim struct {
	*Service
	witness.Backend
}

// StartSim starts the backend with flags such as --boot-median=2s. It may make nodes, as machines that boot do: that
// is why it alone runs as the administrator.
func (k *Kit) StartSim(logs string, flags ...string) (*Sim, error) {
	port, err := controlplane.FreePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	args := append([]string{"sim", "--listen=" + address, "--kubeconfig=" + k.Plane.AdminKubeconfig}, flags...)
	service, err := startService(controlplane.Command{Name: "sim", Path: k.program, Dir: logs, Args: args},
		Service{URL: "http://" + address, Health: "http://" + address + "/healthz"})
	if err != nil {
		return nil, err
	}
	return &Sim{Service: service, Backend: witness.Backend{URL: service.URL}}, nil
}
