package control_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider"
)

// The loops tell the claims when they lead: a machine that a process before them launched an hour ago, by whatever clock, has its whole
// time to register.
func TestM19TheLoopsCountWhatAnotherProcessBeganFromWhenTheyLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.loops.Workers, th.loops.Clock = 1, control.StartClock()
		th.loops.Claims.Now, th.loops.Claims.Backends, th.loops.Claims.Nodes = th.loops.Clock.Now, looksOnly{}, nobody{}
		at := metav1.NewMicroTime(time.Now().Add(-time.Hour))
		claim := &v1alpha1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: capacity.SlotName("p", 0), UID: "uid-0", ResourceVersion: "1", Finalizers: []string{v1alpha1.ClaimFinalizer}},
			Spec: v1alpha1.NodeClaimSpec{Pool: "p", Provider: "sim", Shape: "m", MaxAttempts: 3, Resources: resources("4", "8Gi"),
				RegistrationTimeout: metav1.Duration{Duration: 15 * time.Minute}},
			Status: v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimJoining, Attempts: 1, MachineID: "7", LaunchedAt: &at},
		}
		th.live.SetClaim(claim)
		stop := th.start()
		time.Sleep(15*time.Minute - time.Second)
		require.Equal(t, v1alpha1.ClaimJoining, th.live.Claim(claim.Name).Status.State)
		time.Sleep(2 * time.Second)
		require.Equal(t, v1alpha1.ClaimReleasing, th.live.Claim(claim.Name).Status.State)
		stop()
	})
}

// looksOnly is a provider that cannot be asked.
type looksOnly struct{}

func (looksOnly) Backend(string) (provider.Provider, error) { return nil, provider.ErrUnknown }

func TestTheClockOfAProcessGoesOnWhenTheWallClockIsSet(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	passed := time.Duration(0)
	c := control.NewClock(start, func() time.Duration { return passed })
	require.Equal(t, start, c.Now())
	passed = time.Hour
	require.Equal(t, start.Add(time.Hour), c.Now())
	require.Equal(t, -2*time.Hour, c.Offset(start.Add(-time.Hour)))
	require.Zero(t, c.Offset(start.Add(time.Hour)))
}

// That the wall clock was set is logged once each time.
func TestAClockThatWasSetIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		th := newTheatre(t)
		began, ahead := time.Now(), atomic.Int64{}
		th.loops.Log = slog.New(slog.NewTextHandler(&log, nil))
		th.loops.Clock = control.NewClock(began, func() time.Duration { return time.Since(began) - time.Duration(ahead.Load()) })
		th.loops.Claims.Now = th.loops.Clock.Now
		stop := th.start()
		pass := func() { time.Sleep(10 * time.Minute); synctest.Wait() }
		pass()
		require.Empty(t, log.String())
		ahead.Store(int64(31 * time.Second)) // the wall clock of this test cannot be set, so the other one is
		pass()
		require.Equal(t, 1, strings.Count(log.String(), "was set"), log.String())
		require.Contains(t, log.String(), "ahead=31s")
		ahead.Store(0)
		pass()
		require.Equal(t, 2, strings.Count(log.String(), "was set"), log.String())
		stop()
	})
}
