package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/ipmi/ipmisim"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
)

func runProbe(t *testing.T, password string, args ...string) (string, error) {
	t.Helper()
	out, _, err := runProbes(t, password, args...)
	return out, err
}

func runProbes(t *testing.T, password string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, told bytes.Buffer
	cmd := newProbeCommand(&out, &told, func(string) string { return password })
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), told.String(), err
}

func TestProbePrintsAHost(t *testing.T) {
	sim := &redfishsim.BMC{Personality: redfishsim.IDRAC9(), UUID: "4C4C4544-0030-5210-8047-C6C04F5A4333", Username: "root",
		Password: "canary-pw", Now: time.Now}
	server := httptest.NewTLSServer(sim)
	defer server.Close()

	_, err := runProbe(t, "canary-pw", server.URL, "--username", "root")
	print := dial.Fingerprint(server.Certificate())
	require.ErrorContains(t, err, "--fingerprint "+print)
	require.Empty(t, sim.Requests(), "nobody is told a password before that")

	out, err := runProbe(t, "canary-pw", server.URL, "--username", "root", "--fingerprint", print, "--provider", "metal")
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(strings.ReplaceAll(`# Dell PowerEdge R6515, serial number SN-1, power Off
# resets: On ForceOff ForceRestart GracefulRestart GracefulShutdown PushPowerButton Nmi PowerCycle
# boot devices: None Pxe Hdd Cd UefiHttp
# MACs: 52:54:00:00:00:01 52:54:00:00:00:02
# GPUs: NVIDIA A100
# resources are what is installed; the node may offer less. Set rack, and compare systemUUID with the node's own.
apiVersion: muster.sh/v1alpha1
kind: Host
metadata:
  name: host-sn-1
spec:
  power:
    address: URL
    credentials:
      name: bmc
      namespace: muster-system
    interface: redfish
    tls:
      fingerprint: PRINT
  provider: metal
  resources:
    cpu: "64"
    memory: 256Gi
    nvidia.com/gpu: "1"
  systemUUID: 4c4c4544-0030-5210-8047-c6c04f5a4333
`, "URL", server.URL), "PRINT", print), out)
	require.Zero(t, sim.Sessions(), "logged out")
	require.NotContains(t, out, "canary")
}

func TestProbeSaysWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		password string
		args     []string
		want     string
	}{
		"no address":           {"x", []string{"--username", "root"}, "no BMC"},
		"no user":              {"x", []string{"bmc"}, "username"},
		"a plain http address": {"x", []string{"http://bmc", "--username", "root"}, "https://name:port"},
		"no password":          {"", []string{"127.0.0.1:1", "--username", "root", "--fingerprint", strings.Repeat("AB:", 31) + "AB"}, "MUSTER_BMC_PASSWORD"},
		"both kinds of trust":  {"x", []string{"bmc", "--username", "root", "--fingerprint", "AB", "--ca-file", "x"}, "exclude"},
	} {
		_, err := runProbe(t, c.password, c.args...)
		require.ErrorContains(t, err, c.want, name)
	}
}

// Three BMCs with Redfish, one of which is away, and one with IPMI: first nobody is told a password, and the fingerprints are
// written to a list; with that list they are read.
func TestProbeReadsSeveralBMCs(t *testing.T) {
	var lines []string
	var sims []*redfishsim.BMC
	for n := range 2 {
		sim := &redfishsim.BMC{Personality: redfishsim.IDRAC9(), UUID: hosttest.UUID(n), Username: "root", Password: "canary-pw", Now: time.Now}
		server := httptest.NewTLSServer(sim)
		defer server.Close()
		sims, lines = append(sims, sim), append(lines, fmt.Sprintf("%s - metal-%02d # row 4", server.URL, n))
	}
	away := httptest.NewTLSServer(nil)
	lines = append(lines, away.URL)
	away.Close()
	bmc, err := ipmisim.Listen(t.Context(), ipmisim.Config{Username: "root", Password: "canary-pw", Now: time.Now, GUID: [16]byte{1: 7}})
	require.NoError(t, err)
	folder := t.TempDir()
	first, second, out := filepath.Join(folder, "first"), filepath.Join(folder, "second"), filepath.Join(folder, "hosts")
	require.NoError(t, os.WriteFile(first, []byte("# our BMCs\n\n"+strings.Join(lines, "\n")+"\nipmi://"+bmc.Address+" - old-1\n"), 0o600))

	_, told, err := runProbes(t, "canary-pw", "--username", "root", "--list", first, "--list-out", second)
	require.ErrorContains(t, err, "3 of 4 BMCs were not read")
	require.Equal(t, 2, strings.Count(told, "not trusted  fingerprint "), told)
	require.Contains(t, told, "4 addresses, 4 answered, 1 read")
	for _, sim := range sims {
		require.Empty(t, sim.Requests(), "nobody is told a password before that")
	}
	list, err := os.ReadFile(second)
	require.NoError(t, err)
	kept := slices.DeleteFunc(strings.Split(string(list), "\n"), func(line string) bool { return strings.HasPrefix(line, away.URL) })
	require.NoError(t, os.WriteFile(second, []byte(strings.Join(kept, "\n")), 0o600))

	stdout, told, err := runProbes(t, "canary-pw", "--username", "root", "--list", second, "--out", out)
	require.NoError(t, err, told)
	require.Empty(t, stdout)
	require.Contains(t, told, "3 addresses, 3 answered, 3 read")
	require.Contains(t, told, "Dell PowerEdge R6515  SN-1    64   256Gi   1     Off    "+hosttest.UUID(1))
	require.NotContains(t, told, "canary")
	files, err := filepath.Glob(filepath.Join(out, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	all := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all += string(text)
	}
	for _, want := range []string{"name: metal-00", "name: metal-01", "name: old-1", "interface: ipmi", "systemUUID: " + hosttest.UUID(0), "product_uuid"} {
		require.Contains(t, all, want)
	}
	require.NotContains(t, all, "canary")
	piped, _, err := runProbes(t, "canary-pw", "--username", "root", "--list", second)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(piped, "\n---\n"), "as kubectl takes it")
}

func TestARangeIsLookedThrough(t *testing.T) {
	targets, err := probeFlags{}.targets([]string{"10.0.9.0/29", "10.0.9.3:443"})
	require.NoError(t, err)
	var addresses []string
	for _, target := range targets {
		addresses = append(addresses, target.address)
	}
	require.Equal(t, []string{"https://10.0.9.1:443", "https://10.0.9.2:443", "https://10.0.9.3:443", "https://10.0.9.4:443",
		"https://10.0.9.5:443", "https://10.0.9.6:443"}, addresses)
	for args, want := range map[string]string{"10.0.0.0/16": "at most 1024", "a b c d": "use ADDRESS", "ipmi://": "ipmi://name",
		"ipmi://bmc AB:CD": "no certificates", "https://u:p@bmc": "https://name:port"} {
		_, err = probeFlags{}.targets([]string{args})
		require.ErrorContains(t, err, want)
	}
	_, err = probeFlags{fingerprint: "AB"}.targets([]string{"a", "b"})
	require.ErrorContains(t, err, "--list")
	_, told, err := runProbes(t, "x", "--username", "root", "169.254.169.254/32")
	require.NoError(t, err)
	require.Contains(t, told, "1 addresses, 0 answered, 0 read", "no connection goes there")
}
