package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host/redfish"
)

// passwordVariable holds the password of `muster hosts probe`: an argument list is there for everybody to read.
const passwordVariable = "MUSTER_BMC_PASSWORD" //nolint:gosec // the name of a variable

// probeFlags is what the operator said.
type probeFlags struct {
	username, passwordFile string
	fingerprint, caFile    string
	auth                   string
	manifest               hostManifest
}

func newHostsCommand(stdout io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "hosts", Short: "Work with bare-metal hosts"}
	cmd.AddCommand(newProbeCommand(stdout, os.Getenv))
	return cmd
}

func newProbeCommand(stdout io.Writer, getenv func(string) string) *cobra.Command {
	var f probeFlags
	cmd := &cobra.Command{
		Use:   "probe ADDRESS",
		Short: "Read a Redfish BMC and print a Host manifest",
		Long: `Probe reads what a BMC tells of its systems (UUID, MACs, cpu, memory, GPUs) and what it allows, and prints a Host for each.
It changes nothing. The password comes from --password-file or the environment variable ` + passwordVariable + `. A certificate that
the system does not trust has to be named by its fingerprint; without one, probe prints it and sends no password.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Minute)
			defer cancel()
			return probe(ctx, args[0], f, getenv, stdout)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.username, "username", "", "account of the BMC")
	fs.StringVar(&f.passwordFile, "password-file", "", "file with the password")
	fs.StringVar(&f.fingerprint, "fingerprint", "", "SHA-256 of the BMC's certificate, in hex with colons")
	fs.StringVar(&f.caFile, "ca-file", "", "PEM certificates that the BMC's is signed by")
	fs.StringVar(&f.auth, "auth", "Session", "Session or Basic")
	fs.StringVar(&f.manifest.name, "name", "", "name of the Host; without one, its serial number")
	fs.StringVar(&f.manifest.provider, "provider", "metal", "spec.provider of the Host")
	fs.StringVar(&f.manifest.secret, "credentials", "muster-system/bmc", "Secret (namespace/name) that the Host shall name")
	_ = cmd.MarkFlagRequired("username") // the flag is there: some lines above
	return cmd
}

func probe(ctx context.Context, address string, f probeFlags, getenv func(string) string, stdout io.Writer) error {
	endpoint, err := endpointOf(address)
	if err != nil {
		return err
	}
	trust, err := f.trust()
	if err != nil {
		return err
	}
	if trust == nil {
		if err := introduce(ctx, endpoint); err != nil {
			return err
		}
	}
	password, err := f.password(getenv)
	if err != nil {
		return err
	}
	transport, err := dial.Transport(trust)
	if err != nil {
		return err
	}
	bmc := redfish.New(redfish.Config{Endpoint: endpoint, Auth: v1alpha1.Auth(f.auth), Transport: transport,
		Credentials: &dial.Credentials{Now: time.Now, Read: dial.Static(map[string]string{
			redfish.KeyUsername: f.username, redfish.KeyPassword: password})}})
	defer bmc.Close(context.WithoutCancel(ctx))
	inventory, err := bmc.Probe(ctx)
	if err != nil {
		return err
	}
	f.manifest.address, f.manifest.tls = endpoint, trust
	return f.manifest.print(stdout, inventory)
}

// endpointOf takes a URL or a name.
func endpointOf(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("address %q: use a host name, or https://name:port", address)
	}
	return "https://" + u.Host, nil
}

// trust is what the flags say of the certificate; nil means the system's roots.
func (f probeFlags) trust() (*v1alpha1.TLS, error) {
	switch {
	case f.fingerprint != "" && f.caFile != "":
		return nil, errors.New("--fingerprint and --ca-file exclude each other")
	case f.fingerprint != "":
		return &v1alpha1.TLS{Fingerprint: strings.ToUpper(f.fingerprint)}, nil
	case f.caFile != "":
		pem, err := os.ReadFile(f.caFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		return &v1alpha1.TLS{CABundle: string(pem)}, nil
	}
	return nil, nil
}

func (f probeFlags) password(getenv func(string) string) (string, error) {
	if f.passwordFile == "" {
		if p := getenv(passwordVariable); p != "" {
			return p, nil
		}
		return "", errors.New("no password: give --password-file, or set " + passwordVariable)
	}
	data, err := os.ReadFile(f.passwordFile)
	if err != nil {
		return "", fmt.Errorf("--password-file: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// introduce tells the fingerprint of a certificate that the system's roots do not vouch for. It shakes hands and sends
// nothing.
func introduce(ctx context.Context, endpoint string) error {
	address := strings.TrimPrefix(endpoint, "https://")
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), "443")
	}
	trusted := &tls.Dialer{NetDialer: dial.Dialer(10 * time.Second), Config: &tls.Config{MinVersion: tls.VersionTLS12}}
	conn, err := trusted.DialContext(ctx, "tcp", address)
	if err == nil {
		return conn.Close()
	}
	var unverified *tls.CertificateVerificationError
	if !errors.As(err, &unverified) || len(unverified.UnverifiedCertificates) == 0 {
		return fmt.Errorf("reach %s: %w", endpoint, err)
	}
	return fmt.Errorf("%s shows a certificate that this system does not trust; compare its fingerprint with what the BMC's own "+
		"page says, then give it: --fingerprint %s", endpoint, dial.Fingerprint(unverified.UnverifiedCertificates[0]))
}
