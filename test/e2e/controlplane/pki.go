package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority is a certificate authority that lives as long as one control plane.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	// CAFile and CAData are its certificate in PEM.
	CAFile string
	CAData []byte
}

// KeyPair is a certificate and its key, in PEM, in memory and in files.
type KeyPair struct {
	CertFile, KeyFile string
	CertData, KeyData []byte
}

// NewAuthority makes a CA whose files are in dir.
func NewAuthority(dir string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	template := certificate("muster-e2e-ca", nil)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	a := &Authority{dir: dir, cert: cert, key: key, CAFile: filepath.Join(dir, "ca.crt"), CAData: pemBlock("CERTIFICATE", der)}
	return a, os.WriteFile(a.CAFile, a.CAData, 0o600)
}

// Issue makes a certificate for a user (common name and groups, as kube-apiserver reads them) that is good for a client
// and, at 127.0.0.1 and localhost, for a server. The files are named after it.
func (a *Authority) Issue(file, commonName string, groups ...string) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("issue %s: %w", file, err)
	}
	template := certificate(commonName, groups)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("issue %s: %w", file, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key) // the form in which kube-apiserver reads ServiceAccount keys
	if err != nil {
		return KeyPair{}, fmt.Errorf("issue %s: %w", file, err)
	}
	pair := KeyPair{
		CertFile: filepath.Join(a.dir, file+".crt"), CertData: pemBlock("CERTIFICATE", der),
		KeyFile: filepath.Join(a.dir, file+".key"), KeyData: pemBlock("EC PRIVATE KEY", keyDER),
	}
	if err := os.WriteFile(pair.CertFile, pair.CertData, 0o600); err != nil {
		return KeyPair{}, err
	}
	return pair, os.WriteFile(pair.KeyFile, pair.KeyData, 0o600)
}

func certificate(commonName string, groups []string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // fails only without entropy, as all here would
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
