package redfish_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/redfish"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
)

// After three calls without an answer nothing is sent to that BMC for a while; the BMC beside it is served.
func TestABMCThatDoesNotAnswerIsSpared(t *testing.T) {
	clock, dials := &hosttest.Clock{}, 0
	transport, err := dial.Transport(nil)
	require.NoError(t, err)
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	}
	b := redfish.Switch{BMC: redfish.New(redfish.Config{Endpoint: "https://bmc.example",
		Transport:   &dial.Breaker{Next: transport, Failures: 3, Cool: 30 * time.Second, Now: clock.Now},
		Credentials: &dial.Credentials{Now: clock.Now, Read: dial.Static(map[string]string{"username": "root", "password": canary})}})}
	for range 3 {
		_, err = b.Read(t.Context())
		require.ErrorIs(t, err, provider.ErrUnknown)
	}
	for range 50 {
		_, err = b.Read(t.Context())
		require.ErrorIs(t, err, provider.ErrBusy, "nothing was sent")
		require.ErrorIs(t, b.Off(t.Context(), hosttest.Permits(claimed(1), clock.Now)), provider.ErrBusy)
	}
	require.Equal(t, 3, dials)
	newBench(t, redfishsim.Quanta()).reads(host.Off)
	clock.Set(clock.Now().Add(31 * time.Second))
	_, err = b.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.Equal(t, 4, dials, "one tries")
}
