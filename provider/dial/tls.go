package dial

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// ErrCertificate means that the server is not the one that is trusted.
var ErrCertificate = errors.New("certificate is not the pinned one")

// TLSConfig says which servers are trusted: the system's roots, a bundle, one certificate, or, only by name, any. The
// spec may be nil.
func TLSConfig(spec *v1alpha1.TLS) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case spec == nil:
	case spec.InsecureSkipVerify:
		config.InsecureSkipVerify = true // asked for by this name, and warned about
	case spec.Fingerprint != "":
		pin, err := hex.DecodeString(strings.ReplaceAll(spec.Fingerprint, ":", ""))
		if err != nil || len(pin) != sha256.Size {
			return nil, fmt.Errorf("tls.fingerprint %q is no SHA-256 in hex with colons", spec.Fingerprint)
		}
		config.InsecureSkipVerify = true // the pin is looked at instead of the chain and the name
		config.VerifyConnection = pinned(pin)
	case spec.CABundle != "":
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(spec.CABundle)) {
			return nil, errors.New("tls.caBundle holds no certificate in PEM (-----BEGIN CERTIFICATE----- …)")
		}
	}
	return config, nil
}

// pinned accepts one certificate and no other; it runs on resumed connections too.
func pinned(pin []byte) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return ErrCertificate
		}
		sum := sha256.Sum256(s.PeerCertificates[0].Raw)
		if !bytes.Equal(sum[:], pin) {
			return fmt.Errorf("%w: the server's is %s", ErrCertificate, Fingerprint(s.PeerCertificates[0]))
		}
		return nil
	}
}

// Fingerprint is the SHA-256 of a certificate as tls.fingerprint wants it.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}
