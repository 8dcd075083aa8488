package extender

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// TLSFiles are PEM files. They are read again when they change, so that certificates can be renewed under way. Without
// Cert and Key the server speaks plain HTTP; with ClientCA a caller needs a certificate signed by it.
type TLSFiles struct {
	Cert, Key, ClientCA string
}

// Check reads the files, and says what is wrong with them or with which of them are given.
func (f TLSFiles) Check() error {
	_, err := f.config(slog.New(slog.DiscardHandler))
	return err
}

// config is nil for plain HTTP.
func (f TLSFiles) config(log *slog.Logger) (*tls.Config, error) {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return nil, errors.New("a TLS certificate and its private key belong together: one of the two files is not given")
	case f.Cert == "" && f.ClientCA != "":
		return nil, errors.New("client certificates are asked for within TLS: a certificate and a private key are missing")
	case f.Cert == "":
		return nil, nil
	}
	k := &keyring{files: f, log: log}
	first, err := k.read()
	if err != nil {
		return nil, err
	}
	k.current, k.seen = first, f.stamps()
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The certificate itself comes from the configuration made for each connection.
		GetCertificate:     func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &k.latest().Certificates[0], nil },
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.latest(), nil },
	}, nil
}

// stamp tells one version of a file from the next.
type stamp struct {
	modified time.Time
	size     int64
}

// stamps are those of the three files; a file that cannot be seen has none.
func (f TLSFiles) stamps() [3]stamp {
	var all [3]stamp
	for i, name := range []string{f.Cert, f.Key, f.ClientCA} {
		if info, err := os.Stat(name); err == nil {
			all[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return all
}

// keyring holds what the files last said.
type keyring struct {
	files TLSFiles
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Config
	seen    [3]stamp
}

// latest looks at the files once per connection, of which kube-scheduler makes few. Files that cannot be used, as while
// they are being replaced, leave the last good ones in force.
func (k *keyring) latest() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	stamps := k.files.stamps()
	if stamps == k.seen {
		return k.current
	}
	fresh, err := k.read()
	if err != nil {
		k.log.Warn("TLS files changed and cannot be used, the former ones stay in force", "error", err)
		return k.current
	}
	k.log.Info("TLS files read again")
	k.current, k.seen = fresh, stamps
	return k.current
}

func (k *keyring) read() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(k.files.Cert, k.files.Key)
	if err != nil {
		return nil, fmt.Errorf("read TLS certificate %s with key %s: %w", k.files.Cert, k.files.Key, err)
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"},
	}
	if k.files.ClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(k.files.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("read client CA: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read client CA %s: no certificate in it", k.files.ClientCA)
	}
	return c, nil
}
