package stage

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/gate"
)

// Gated puts a gate before the backend, which must be there already, and before the API server as Muster sees it. The flags
// are for the replicas that shall go through it.
func (s *Stage) Gated(g *gate.Gate) (flags []string) {
	s.T.Helper()
	var p v1alpha1.Provider
	require.NoError(s.T, s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: SimProvider}, &p))
	p.Spec.Endpoint = g.Front(s.T, s.Sim.Service.URL, nil, nil)
	require.NoError(s.T, s.Plane.Objects.Update(s.Ctx, &p))

	config, err := clientcmd.LoadFromFile(s.Kit.Placed.Kubeconfig)
	require.NoError(s.T, err)
	server, err := s.Plane.CA.Issue(s.Namespace+"-gate", "gate")
	require.NoError(s.T, err)
	trusted := x509.NewCertPool()
	require.True(s.T, trusted.AppendCertsFromPEM(s.Plane.CA.CAData))
	for _, cluster := range config.Clusters {
		cluster.Server = g.Front(s.T, cluster.Server, &tls.Config{RootCAs: trusted}, s.certificate(server))
	}
	file := filepath.Join(s.Logs, "gated.kubeconfig")
	require.NoError(s.T, clientcmd.WriteToFile(*config, file))
	return []string{"--kubeconfig=" + file}
}
