package main

import (
	"cmp"
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
	list, listOut, out     string
	manifest               hostManifest
}

func newHostsCommand(stdout, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "hosts", Short: "Work with bare-metal hosts"}
	cmd.AddCommand(newProbeCommand(stdout, stderr, os.Getenv))
	return cmd
}

func newProbeCommand(stdout, stderr io.Writer, getenv func(string) string) *cobra.Command {
	var f probeFlags
	cmd := &cobra.Command{
		Use:   "probe ADDRESS|CIDR...",
		Short: "Read BMCs and print Host manifests",
		Long: `Probe reads what BMCs tell of their systems (UUID, MACs, cpu, memory, GPUs) and what they allow, and prints a Host for each.
It changes nothing. An address is a name, https://name:port, or ipmi://name for a BMC that speaks IPMI only; a range such as
10.0.9.0/24 is looked through for Redfish. The password comes from --password-file or the environment variable
` + passwordVariable + `. A certificate that the system does not trust has to be named by its fingerprint; without one, probe
prints it and sends no password. For several BMCs --list has a line for each: ADDRESS [FINGERPRINT [NAME]].
Manifests go to the standard output, or to a file for each BMC in --out; progress and a table to the standard error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, getenv, stdout, stderr)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.username, "username", "", "account of the BMC")
	fs.StringVar(&f.passwordFile, "password-file", "", "file with the password")
	fs.StringVar(&f.fingerprint, "fingerprint", "", "SHA-256 of the BMC's certificate, in hex with colons")
	fs.StringVar(&f.caFile, "ca-file", "", "PEM certificates that the BMC's is signed by")
	fs.StringVar(&f.auth, "auth", "Session", "Session or Basic")
	fs.StringVar(&f.list, "list", "", "file with a BMC on each line: ADDRESS [FINGERPRINT [NAME]]")
	fs.StringVar(&f.listOut, "list-out", "", "file to write such a list to, with the fingerprints seen: compare them, then give it as --list")
	fs.StringVar(&f.out, "out", "", "folder to write a manifest for each BMC to")
	fs.StringVar(&f.manifest.name, "name", "", "name of the Host; without one, its serial number")
	fs.StringVar(&f.manifest.provider, "provider", "metal", "spec.provider of the Host")
	fs.StringVar(&f.manifest.secret, "credentials", "muster-system/bmc", "Secret (namespace/name) that the Host shall name")
	_ = cmd.MarkFlagRequired("username") // the flag is there: some lines above
	return cmd
}

// run probes the BMCs of the arguments and of the list. The exit status is bad when one of them could not be read.
func (f probeFlags) run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	targets, err := f.targets(args)
	if err != nil {
		return err
	}
	if _, err := f.trust(); err != nil {
		return err
	}
	password, err := f.password(getenv)
	if err != nil {
		return err
	}
	if len(targets) == 1 && !targets[0].scanned && f.out == "" && f.listOut == "" {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		r := f.one(ctx, targets[0], password)
		if r.err != nil {
			return r.err
		}
		_, err := io.WriteString(stdout, r.manifest)
		return err
	}
	return f.many(ctx, targets, password, stdout, stderr)
}

// probeTime bounds the reading of one BMC; slow ones take minutes.
const probeTime = 3 * time.Minute

// one probes one BMC.
func (f probeFlags) one(ctx context.Context, t target, password string) probed {
	r := probed{target: t}
	if t.ipmi {
		f.overIPMI(ctx, password, &r)
		return r
	}
	trust, err := f.trust()
	if t.fingerprint != "" {
		trust, err = &v1alpha1.TLS{Fingerprint: t.fingerprint}, nil
	}
	if err == nil && trust == nil {
		err = introduce(ctx, t.address)
	}
	if err != nil {
		r.err = err
		return r
	}
	transport, err := dial.Transport(trust)
	if err != nil {
		r.err = err
		return r
	}
	bmc := redfish.New(redfish.Config{Endpoint: t.address, Auth: v1alpha1.Auth(f.auth), Transport: transport,
		Credentials: &dial.Credentials{Now: time.Now, Read: dial.Static(map[string]string{
			redfish.KeyUsername: f.username, redfish.KeyPassword: password})}})
	defer bmc.Close(context.WithoutCancel(ctx))
	r.inventory, r.err = bmc.Probe(ctx)
	if r.err != nil {
		return r
	}
	m := f.manifest
	m.name = cmp.Or(t.name, m.name)
	m.address, m.tls = t.address, trust
	r.manifest, r.err = m.text(r.inventory)
	return r
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
	return &untrusted{endpoint, dial.Fingerprint(unverified.UnverifiedCertificates[0])}
}

// untrusted is a BMC whose certificate nobody vouches for.
type untrusted struct{ endpoint, fingerprint string }

func (u *untrusted) Error() string {
	return fmt.Sprintf("%s shows a certificate that this system does not trust; compare its fingerprint with what the BMC's own "+
		"page says, then give it: --fingerprint %s", u.endpoint, u.fingerprint)
}
