package redfish_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/redfish"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
)

// trees are those of real services where MUSTER_REDFISH_TREES names a folder of them, which this repository has not; and
// what the simulator itself tells, always.
func trees(t *testing.T) map[string]redfishsim.Tree {
	all := map[string]redfishsim.Tree{"the simulator": ownTree(t)}
	folder := os.Getenv("MUSTER_REDFISH_TREES")
	if folder == "" {
		return all
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		tree, err := redfishsim.ReadTree(filepath.Join(folder, e.Name()))
		require.NoError(t, err, e.Name())
		all[e.Name()] = tree
	}
	return all
}

// ownTree is what the simulator tells, written to a folder and read from it.
func ownTree(t *testing.T) redfishsim.Tree {
	sim := &redfishsim.BMC{Personality: redfishsim.IDRAC9(), UUID: hosttest.UUID(7), Username: "root", Password: canary, Now: (&hosttest.Clock{}).Now}
	folder := t.TempDir()
	for i, path := range []string{"/redfish/v1", "/redfish/v1/Systems", "/redfish/v1/Systems/1", "/redfish/v1/Systems/1/Processors"} {
		request := httptest.NewRequest("GET", path, nil)
		request.SetBasicAuth("root", canary)
		answer := httptest.NewRecorder()
		sim.ServeHTTP(answer, request)
		require.True(t, json.Valid(answer.Body.Bytes()))
		require.NoError(t, os.WriteFile(filepath.Join(folder, string(rune('a'+i))+".json"), answer.Body.Bytes(), 0o600))
	}
	tree, err := redfishsim.ReadTree(folder)
	require.NoError(t, err)
	return tree
}

// A service with the tree of a real one: read, booted from the network, switched on, cleared, shut down, and probed, through
// the real client over TLS; busy at first.
func TestServicesWithRealTreesAreServed(t *testing.T) {
	for name, tree := range trees(t) {
		t.Run(name, func(t *testing.T) {
			p, err := tree.Personality()
			require.NoError(t, err)
			p.Delay, p.MaxSessions = 20*time.Second, 8
			b := newBench(t, p)
			b.Switch = redfish.Switch{BMC: b.bmc, Bound: host.Bind(b.host, b.clock.Now)}
			b.Busy(1)
			_, err = b.Read(t.Context())
			require.ErrorIs(t, err, provider.ErrBusy)
			r, err := b.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, host.Off, r.Power)
			require.NotEmpty(t, r.SystemUUID)
			require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE))
			require.Contains(t, b.Taken(), "On")
			b.pass(time.Minute)
			b.reads(host.On)
			require.NoError(t, b.ClearBoot(t.Context()))
			require.NoError(t, b.Shutdown(t.Context(), b.permit()))
			b.pass(time.Minute)
			b.reads(host.Off)
			inventory, err := b.bmc.Probe(t.Context())
			require.NoError(t, err)
			require.Len(t, inventory.Systems, 1)
			require.Positive(t, inventory.Systems[0].CPUs)
			require.Positive(t, inventory.Systems[0].MemoryGiB)
			require.Contains(t, inventory.Systems[0].Resets, "ForceOff")
			b.bmc.Close(t.Context())
			require.Zero(t, b.Sessions())
		})
	}
}

// A BMC reboots while its host is being switched on: connections break, then it is starting; sessions and tasks are
// forgotten, power is not. The host comes on with no try too many.
func TestAColdResetOfTheBMCIsWaitedFor(t *testing.T) {
	for name, p := range redfishsim.All() {
		t.Run(name, func(t *testing.T) {
			rack, room := rackOf(t, 1, p)
			m, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
			require.NoError(t, err)
			rack.Advance(t, 2*time.Second)
			room.sims["host-00"].ColdReset(time.Minute)
			rack.Advance(t, 5*time.Minute)
			require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get("host-00").Status.State)
			require.Equal(t, []string{"On"}, room.sims["host-00"].Taken())
			m, err = rack.Provider.Get(t.Context(), m)
			require.NoError(t, err)
			require.Equal(t, provider.StateRunning, m.State)
			room.sims["host-00"].ColdReset(time.Minute) // and while it is switched off
			require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
			rack.Advance(t, 10*time.Minute)
			require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State)
			require.False(t, room.IsOn("host-00"))
		})
	}
}

// A BMC that freezes when two requests come at once, with four hosts behind it and many callers: it does not freeze.
func TestABMCThatFreezesUnderBurstsIsAskedOneThingAtATime(t *testing.T) {
	p := redfishsim.Quanta()
	p.FreezesAt = 2
	p.ExtraSystems = 3
	b := newBench(t, p)
	var all sync.WaitGroup
	for n := range 40 {
		s := redfish.Switch{BMC: b.bmc, Bound: host.Bind(b.host, b.clock.Now), System: []string{"1", "other-0", "other-1", "other-2"}[n%4]}
		all.Go(func() { _, _ = s.Read(context.Background()) })
	}
	all.Wait()
	require.False(t, b.Frozen())
	b.reads(host.Off)

	direct := newBench(t, p) // that it can freeze
	direct.BMC.FreezesAt = 1
	_, err := direct.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.True(t, direct.Frozen())
}

// Some BMCs choke on a second request on one connection.
func TestEachRequestHasAConnectionOfItsOwn(t *testing.T) {
	p := redfishsim.IDRAC9()
	p.RequiresClose = true
	b := newBench(t, p)
	require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE))
	b.pass(time.Minute)
	b.reads(host.On)
}

// A reset that is answered with 404 now and then, as by some firmware while it makes a job, is asked for again.
func TestAResetThatIsNotFoundOnceIsAskedForAgain(t *testing.T) {
	p := redfishsim.IDRAC9()
	p.LostJobs, p.NotReady = true, false
	rack, room := rackOf(t, 1, p)
	_, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, 5*time.Minute)
	require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get("host-00").Status.State)
	require.Equal(t, []string{"On"}, room.sims["host-00"].Taken())
}

// A description of the reset that does not decode counts as none: the types that all BMCs have are used.
func TestActionInfoThatIsRubbishCountsAsNone(t *testing.T) {
	tree := ownTree(t)
	system := tree["/redfish/v1/Systems/1"]
	system["Actions"] = map[string]any{"#ComputerSystem.Reset": map[string]any{
		"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", "@Redfish.ActionInfo": "/redfish/v1/rubbish"}}
	tree["/redfish/v1/rubbish"] = map[string]any{"Parameters": "none"}
	b := newBench(t, redfishsim.Personality{Tree: tree, Resets: []string{"On", "ForceOff"}})
	b.Switch = redfish.Switch{BMC: b.bmc, Bound: host.Bind(b.host, b.clock.Now)}
	require.NoError(t, b.On(t.Context(), ""))
	require.NoError(t, b.Off(t.Context(), b.permit()))
	require.Equal(t, []string{"On", "ForceOff"}, b.Taken())
}

// A BMC that calls its power Paused is on; one that says nothing of it is unknown.
func TestEveryPowerStateHasAMeaning(t *testing.T) {
	for said, want := range map[any]host.Power{"On": host.On, "Off": host.Off, "PoweringOn": host.PoweringOn,
		"PoweringOff": host.PoweringOff, "Paused": host.On, nil: host.Unknown, "Reset": host.Unknown, 7: host.Unknown} {
		text, err := json.Marshal(map[string]any{"@odata.id": "/redfish/v1/Systems/1", "PowerState": said})
		require.NoError(t, err)
		s, err := redfish.Summarize(text)
		require.NoError(t, err)
		require.Equal(t, want, s.Power, "%v", said)
	}
}

// Somebody who does not speak TLS is told no credentials.
func TestPlainHTTPIsNotSpoken(t *testing.T) {
	sim := &redfishsim.BMC{Personality: redfishsim.Quanta(), Username: "root", Password: canary, Now: (&hosttest.Clock{}).Now}
	server := httptest.NewServer(sim)
	defer server.Close()
	transport, err := dial.Transport(nil)
	require.NoError(t, err)
	bmc := redfish.New(redfish.Config{Endpoint: "https://" + server.Listener.Addr().String(), Transport: transport,
		Credentials: &dial.Credentials{Read: dial.Static(map[string]string{"username": "root", "password": canary}), Now: (&hosttest.Clock{}).Now}})
	_, err = redfish.Switch{BMC: bmc}.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.Empty(t, sim.Requests())
}
