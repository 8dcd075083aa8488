//go:build peer

package ipmi_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/ipmi"
	"github.com/muster-sh/muster/provider/host/ipmi/ipmisim"
)

// These tests talk to OpenIPMI's ipmi_sim and ipmitool, which share no code with our library: `make peer`.

const lanConf = `name "peer"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 %d
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid 6d757374657240008000000000000001
  endlan
  chassis_control "%s 0x20"
  user 1 true "" "" user 10 none md2 md5 straight
  user 2 true "admin" "%s" admin 10 none md2 md5 straight
`

const emulation = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
`

// chassis keeps power and boot device in files, as ipmi_sim asks for them: "get power", "set power 1", "set shutdown 1".
const chassis = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
shift
op=$1; shift
while [ $# -gt 0 ]; do
  case $op-$1 in
    get-power) echo "power:$(cat power)";;
    get-boot) echo "boot:$(cat boot)";;
    set-power) shift; echo "$1" >power;;
    set-boot) shift; echo "$1" >boot;;
    set-shutdown) shift; echo 0 >power;;
    check-*) ;;
    set-*) shift;;
  esac
  shift
done
`

// startPeer runs ipmi_sim until the test ends.
func startPeer(t *testing.T) (address, folder string) {
	free, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	port := free.LocalAddr().(*net.UDPAddr).Port
	require.NoError(t, free.Close())
	folder = t.TempDir()
	script := filepath.Join(folder, "chassis")
	for name, text := range map[string]string{"lan.conf": fmt.Sprintf(lanConf, port, script, canary), "peer.emu": emulation,
		"chassis": chassis, "power": "0", "boot": "none"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700))
	}
	ctx, stop := context.WithCancel(context.Background())
	sim := exec.CommandContext(ctx, "ipmi_sim", "-c", filepath.Join(folder, "lan.conf"), "-f", filepath.Join(folder, "peer.emu"), "-s", folder, "-n")
	output, err := os.Create(filepath.Join(folder, "output"))
	require.NoError(t, err)
	sim.Stdout, sim.Stderr = output, output
	require.NoError(t, sim.Start())
	t.Cleanup(func() { stop(); _ = sim.Wait() })
	return fmt.Sprintf("127.0.0.1:%d", port), folder
}

func peer(t *testing.T, password string) (ipmi.Switch, string) {
	address, folder := startPeer(t)
	clock := &hosttest.Clock{}
	s := bound(ipmi.New(ipmi.Config{Address: address, Suites: []int32{3}, Credentials: &dial.Credentials{Now: clock.Now,
		Read: dial.Static(map[string]string{"username": "admin", "password": password})}}), clock)
	require.Eventually(t, func() bool {
		_, err := s.Read(t.Context())
		return provider.KindOf(err) != provider.ErrUnknown
	}, 20*time.Second, 100*time.Millisecond, "ipmi_sim answers")
	return s, folder
}

func TestOurClientSwitchesAnotherMakersBMC(t *testing.T) {
	s, folder := peer(t, canary)
	file := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return strings.TrimSpace(string(text))
	}
	reads(t, s, host.Off)
	require.NoError(t, s.Off(t.Context(), permit(&hosttest.Clock{})), "off already is no error")
	require.NoError(t, s.On(t.Context(), v1alpha1.BootPXE))
	require.Equal(t, "pxe", file("boot"))
	require.Equal(t, "1", file("power"))
	reads(t, s, host.On)
	require.NoError(t, s.ClearBoot(t.Context()))
	require.Equal(t, "none", file("boot"))
	require.NoError(t, s.Shutdown(t.Context(), permit(&hosttest.Clock{})))
	reads(t, s, host.Off)
	require.NoError(t, s.On(t.Context(), ""))
	require.NoError(t, s.Off(t.Context(), permit(&hosttest.Clock{})))
	require.Equal(t, "0", file("power"))
	got, err := s.BMC.Probe(t.Context())
	require.NoError(t, err)
	require.Contains(t, got.UUIDs, hosttest.UUID(1))
	require.EqualValues(t, 0x1291, got.Manufacturer)
}

func TestAnotherMakersBMCTurnsAWrongPasswordDown(t *testing.T) {
	s, _ := peer(t, "wrong-canary")
	_, err := s.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.NotContains(t, err.Error(), "canary")
}

// The simulator of our tests is one that another maker's client can use, with either cipher suite.
func TestAnotherMakersClientSwitchesOurSimulator(t *testing.T) {
	for _, suite := range []types.CipherSuiteID{3, 17} {
		b := listen(t, &hosttest.Clock{}, ipmisim.Config{})
		name, port, err := net.SplitHostPort(b.Address)
		require.NoError(t, err)
		tool := func(args ...string) string {
			all := append([]string{"-I", "lanplus", "-H", name, "-p", port, "-U", "admin", "-E", "-L", "OPERATOR", "-C", fmt.Sprint(suite)}, args...)
			cmd := exec.CommandContext(t.Context(), "ipmitool", all...)
			cmd.Env = append(os.Environ(), "IPMI_PASSWORD="+canary)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		require.Contains(t, tool("chassis", "power", "status"), "is off")
		tool("chassis", "power", "on")
		require.Contains(t, tool("chassis", "power", "status"), "is on")
		require.Equal(t, []string{"on"}, b.Ops())
	}
}
