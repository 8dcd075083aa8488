package extender_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/extender"
)

// authority signs certificates for one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{cert, key}
}

func (a authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue signs a certificate for 127.0.0.1 and writes it and its key into dir.
func (a authority) issue(t *testing.T, dir, name string, serial int64) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	write(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return certFile, keyFile
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, data, 0o600))
}

// start serves on a free loopback port until the test ends, and returns the address.
func start(t *testing.T, files extender.TLSFiles) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	s := extender.Server{Handler: extender.New(config(smallWorld())), TLS: files, Logger: quiet(), Grace: 10 * time.Second}
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return l.Addr().String()
}

// healthy asks for /healthz over a connection of its own.
func healthy(t *testing.T, address string, config *tls.Config) (*http.Response, error) {
	t.Helper()
	scheme := "http://"
	if config != nil {
		scheme = "https://"
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	response, err := client.Get(scheme + address + "/healthz")
	if err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	return response, err
}

func TestServePlainHTTP(t *testing.T) {
	response, err := healthy(t, start(t, extender.TLSFiles{}), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestServeTLSReadsARenewedCertificate(t *testing.T) {
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	cert, key := ca.issue(t, dir, "server", 2)
	address := start(t, extender.TLSFiles{Cert: cert, Key: key})
	response, err := healthy(t, address, &tls.Config{RootCAs: ca.pool()})
	require.NoError(t, err)
	require.Equal(t, int64(2), response.TLS.PeerCertificates[0].SerialNumber.Int64())
	require.Equal(t, 2, response.ProtoMajor)

	write(t, key, []byte("half written"))
	_, err = healthy(t, address, &tls.Config{RootCAs: ca.pool()})
	require.NoError(t, err, "the former certificate stays in force")

	ca.issue(t, dir, "server", 123456789)
	response, err = healthy(t, address, &tls.Config{RootCAs: ca.pool()})
	require.NoError(t, err)
	require.Equal(t, int64(123456789), response.TLS.PeerCertificates[0].SerialNumber.Int64())
}

func TestServeAsksForAClientCertificate(t *testing.T) {
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	cert, key := ca.issue(t, dir, "server", 2)
	clients := newAuthority(t, "clients")
	write(t, filepath.Join(dir, "clients.pem"), clients.pem())
	address := start(t, extender.TLSFiles{Cert: cert, Key: key, ClientCA: filepath.Join(dir, "clients.pem")})

	_, err := healthy(t, address, &tls.Config{RootCAs: ca.pool()})
	require.Error(t, err, "no certificate")

	stranger, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	_, err = healthy(t, address, &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{stranger}})
	require.Error(t, err, "a certificate of another authority")

	known, err := tls.LoadX509KeyPair(clients.issue(t, dir, "scheduler", 3))
	require.NoError(t, err)
	response, err := healthy(t, address, &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{known}})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestServeRefusesHalfAConfiguration(t *testing.T) {
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	cert, key := ca.issue(t, dir, "server", 2)
	none := filepath.Join(dir, "none")
	empty := filepath.Join(dir, "empty")
	write(t, empty, nil)
	for name, c := range map[string]struct {
		files extender.TLSFiles
		text  string
	}{
		"a certificate without a key":          {extender.TLSFiles{Cert: cert}, "belong together"},
		"a key without a certificate":          {extender.TLSFiles{Key: key}, "belong together"},
		"a client CA without TLS":              {extender.TLSFiles{ClientCA: cert}, "within TLS"},
		"a certificate that is not there":      {extender.TLSFiles{Cert: none, Key: key}, none},
		"a client CA that is not there":        {extender.TLSFiles{Cert: cert, Key: key, ClientCA: none}, none},
		"a client CA without a certificate":    {extender.TLSFiles{Cert: cert, Key: key, ClientCA: empty}, "no certificate in it"},
		"a key that is not the certificate's":  {extender.TLSFiles{Cert: cert, Key: otherKey(t, ca, dir)}, "private key"},
		"a certificate and key the wrong way ": {extender.TLSFiles{Cert: key, Key: cert}, "read TLS certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			s := extender.Server{Handler: http.NotFoundHandler(), TLS: c.files, Logger: quiet()}
			require.ErrorContains(t, s.Serve(t.Context(), l), c.text)
			_, err = l.Accept()
			require.ErrorIs(t, err, net.ErrClosed)
		})
	}
}

func otherKey(t *testing.T, ca authority, dir string) string {
	t.Helper()
	_, key := ca.issue(t, dir, "other", 9)
	return key
}

func TestServeWarnsOfAnOpenListener(t *testing.T) {
	for _, c := range []struct {
		address        string
		public, warned bool
	}{{"0.0.0.0:0", false, true}, {"0.0.0.0:0", true, false}, {"127.0.0.1:0", false, false}} {
		var log bytes.Buffer
		l, err := net.Listen("tcp4", c.address)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := extender.Server{
			Handler: http.NotFoundHandler(), Public: c.public, Logger: slog.New(slog.NewTextHandler(&log, nil)), Grace: time.Second,
		}
		require.NoError(t, s.Serve(ctx, l))
		require.Equal(t, c.warned, bytes.Contains(log.Bytes(), []byte("asks for no client certificate")), c.address)
	}
}

// A call that runs when the end comes still gets its answer.
func TestServeFinishesRunningCalls(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		w.WriteHeader(http.StatusTeapot)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served, answered := make(chan error, 1), make(chan int, 1)
	go func() {
		served <- extender.Server{Handler: handler, Logger: quiet(), Grace: 10 * time.Second}.Serve(ctx, l)
	}()
	go func() {
		response, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	<-entered
	cancel()
	close(leave)
	require.Equal(t, http.StatusTeapot, <-answered)
	require.NoError(t, <-served)
}
