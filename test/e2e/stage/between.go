package stage

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/test/e2e/controlplane"
	"github.com/muster-sh/muster/test/e2e/recorder"
)

// mutual holds the certificates by which an extender and its scheduler know each other.
type mutual struct{ server, caller controlplane.KeyPair }

// between puts the recorder, if there is one, into the way and returns the URL to call. With certificates it asks for
// the scheduler's, as Muster would, and shows Muster the same.
func (s *Stage) between(target string, r *recorder.Recorder, m *mutual) string {
	s.T.Helper()
	if r == nil {
		return target
	}
	u, err := url.Parse(target)
	require.NoError(s.T, err)
	front := httptest.NewUnstartedServer(http.HandlerFunc(r.ServeHTTP))
	s.T.Cleanup(front.Close)
	if m == nil {
		r.Forward(u, nil)
		front.Start()
		return front.URL
	}
	trusted := x509.NewCertPool()
	require.True(s.T, trusted.AppendCertsFromPEM(s.Plane.CA.CAData))
	r.Forward(u, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: s.certificate(m.caller)}})
	front.TLS = &tls.Config{
		Certificates: s.certificate(m.server), ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	front.StartTLS()
	return front.URL
}

func (s *Stage) certificate(pair controlplane.KeyPair) []tls.Certificate {
	s.T.Helper()
	c, err := tls.X509KeyPair(pair.CertData, pair.KeyData)
	require.NoError(s.T, err)
	return []tls.Certificate{c}
}
