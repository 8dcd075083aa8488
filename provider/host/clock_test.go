package host_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

// restarted is another process over the same hosts.
func (o *one) restarted() {
	old := o.Keeper
	o.Keeper = &host.Keeper{Name: old.Name, Objects: old.Objects, Switches: old.Switches, Claims: old.Claims, Gate: old.Gate, Recorder: old.Recorder,
		Rules: old.Rules, Now: old.Now, Log: old.Log, Parallel: old.Parallel}
}

// The clock is set between two processes while an operating system shuts down: it has all of its time before its power is taken, and its
// power is taken.
func TestM19AClockThatIsSetTakesNoPowerTooEarly(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{-10 * year, -time.Hour, time.Hour, 10 * year} {
		t.Run(fmt.Sprint(jump), func(t *testing.T) {
			o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf = true })
			o.serve()
			o.stop()
			o.advance(time.Minute)
			require.Equal(t, []host.Call{host.CallOn, host.CallShutdown}, o.lamp.Calls())
			o.restarted()
			o.Set(o.Now().Add(jump))
			o.advance(4*time.Minute - time.Second)
			require.Equal(t, []host.Call{host.CallOn, host.CallShutdown}, o.lamp.Calls(), "it has had five minutes less a second")
			o.advance(time.Minute + 10*time.Second)
			require.Equal(t, []host.Call{host.CallOn, host.CallShutdown, host.CallOff}, o.lamp.Calls())
			o.advance(time.Minute)
			require.Equal(t, v1alpha1.HostStopped, o.state())
		})
	}
}

// A process that led, lost the lead and leads again does not know by which clock another one worked meanwhile.
func TestM19AKeeperThatLeadsAgainCountsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leading atomic.Bool
		leading.Store(true)
		o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf = true })
		o.serve()
		o.stop()
		o.advance(time.Minute)
		began := o.Now()
		o.restarted()
		o.Keeper.Now = func() time.Time { return began.Add(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) }
		o.Keeper.Leading = leading.Load
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { o.Keeper.Run(ctx); close(done) }()
		time.Sleep(4 * time.Minute)
		leading.Store(false)
		time.Sleep(10 * time.Second)
		leading.Store(true)
		time.Sleep(4 * time.Minute)
		require.Equal(t, []host.Call{host.CallOn, host.CallShutdown}, o.lamp.Calls())
		time.Sleep(time.Minute + 10*time.Second)
		require.Equal(t, []host.Call{host.CallOn, host.CallShutdown, host.CallOff}, o.lamp.Calls())
		stop()
		<-done
	})
}

// A host that was claimed by a clock that was ten years ahead is switched on when it was read once.
func TestM19AClaimFromTheFutureIsServed(t *testing.T) {
	o := oneHost(t, nil)
	h := o.host()
	h.Status.Claim.At = metav1.NewMicroTime(o.Now().Add(10 * 365 * 24 * time.Hour))
	_, err := o.Objects.UpdateStatus(t.Context(), h)
	require.NoError(t, err)
	o.advance(time.Minute)
	require.Equal(t, v1alpha1.HostJoining, o.state(), o.status().Message)
}
