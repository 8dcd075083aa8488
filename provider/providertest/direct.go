package providertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Direct carries requests to a handler without a connection. It stands under a Wire for the cases in which every request is broken
// once: what a Wire does happens above the connection, and opening thousands of those is most of what such a case costs. That
// connections themselves work is for all the other cases to show.
type Direct struct{ http.Handler }

// RoundTrip has the handler answer, unless nobody waits for that any more.
func (d Direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	received := req.Clone(req.Context())
	if received.Body == nil {
		received.Body = http.NoBody // as a server has it
	}
	defer func() { _ = received.Body.Close() }()
	w := httptest.NewRecorder()
	if !answered(d, w, received) {
		return nil, errWire
	}
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// answered says that the handler did not cut the connection.
func answered(h http.Handler, w http.ResponseWriter, req *http.Request) (whole bool) {
	defer func() {
		if cut := recover(); cut != nil && cut != http.ErrAbortHandler { //nolint:errorlint // the very value
			panic(cut)
		}
	}()
	h.ServeHTTP(w, req)
	return true
}

// Certified makes a server that was not started present a certificate of an elliptic curve, the same in all tests of a process.
// The one that httptest has is RSA, whose handshakes take some ten times as long.
func Certified(s *httptest.Server) *httptest.Server {
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate()}}
	return s
}

var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simulated"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:   time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
