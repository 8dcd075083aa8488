package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
)

func runProbe(t *testing.T, password string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newProbeCommand(&out, func(string) string { return password })
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
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
		"no address":           {"x", []string{"--username", "root"}, "accepts 1 arg"},
		"no user":              {"x", []string{"bmc"}, "username"},
		"a plain http address": {"x", []string{"http://bmc", "--username", "root"}, "https://name:port"},
		"no password":          {"", []string{"127.0.0.1:1", "--username", "root", "--fingerprint", strings.Repeat("AB:", 31) + "AB"}, "MUSTER_BMC_PASSWORD"},
		"both kinds of trust":  {"x", []string{"bmc", "--username", "root", "--fingerprint", "AB", "--ca-file", "x"}, "exclude"},
	} {
		_, err := runProbe(t, c.password, c.args...)
		require.ErrorContains(t, err, c.want, name)
	}
}
