package control_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

const (
	boardUUID = "6d757374-6572-4000-8000-000000000007"
	otherUUID = "6d757374-6572-4000-8000-000000000008"
)

// barn is a cluster with bare-metal hosts: one that a claim gave back, whose Node is closed and empty.
type barn struct {
	*house
	gate  *control.Gate
	hosts []*v1alpha1.Host
	list  error
}

func newBarn(t *testing.T) *barn {
	r := &barn{house: newHouse(t)}
	r.gate = &control.Gate{Live: r.live, Kube: r, Backends: r, Log: slog.New(slog.DiscardHandler), Cluster: "own", Now: func() time.Time { return r.now }}
	h := metal("metal-07", "10.0.9.7", boardUUID)
	h.Status.State, h.Status.SwitchedOn = v1alpha1.HostPoweringOff, true
	h.Status.Claim = &v1alpha1.HostClaim{Name: "std-000", UID: "uid-std-000", Attempt: 1, Cluster: "own", NodeName: "metal-07", NodeUID: "node-7"}
	r.hosts = []*v1alpha1.Host{h}
	c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "std-000", UID: "uid-std-000"}, Spec: v1alpha1.NodeClaimSpec{Provider: "metal", Pool: "std"}}
	c.Status.State, c.Status.Attempts, c.Status.MachineID, c.Status.Host = v1alpha1.ClaimReleasing, 1, "metal-07", "metal-07"
	c.Status.NodeName, c.Status.NodeUID, c.Status.SystemUUID = "metal-07", "node-7", boardUUID
	r.live.SetClaim(c)
	r.nodes = []*corev1.Node{shut("metal-07", "node-7", boardUUID)}
	return r
}

// metal is a host that was read once.
func metal(name, address, uuid string) *v1alpha1.Host {
	h := &v1alpha1.Host{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("host-" + name)}}
	h.Spec.Provider, h.Spec.Power = "metal", v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: "https://" + address}
	h.Status.State = v1alpha1.HostOff
	h.Status.Identity = &v1alpha1.MachineIdentity{Address: address, System: "1", SystemUUID: uuid}
	return h
}

// shut is a Ready Node that takes no pods any more.
func shut(name string, uid types.UID, uuid string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
	n.Status.NodeInfo.SystemUUID = uuid
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return lifecycle.FenceNode(n, provider.Machine{Claim: "std-000", ClaimUID: "uid-std-000"}, "metal")
}

func (r *barn) all(context.Context) ([]*v1alpha1.Host, error) { return r.hosts, r.list }

func (r *barn) met() v1alpha1.MachineIdentity { return *r.hosts[0].Status.Identity }

func (r *barn) runs(name, node string) {
	r.pods = append(r.pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node}})
}

func (r *barn) claim(name string, state v1alpha1.ClaimState, change func(*v1alpha1.NodeClaim)) {
	c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "2"}, Spec: v1alpha1.NodeClaimSpec{Provider: "metal"}}
	c.Status.State, c.Status.Attempts = state, 1
	if change != nil {
		change(c)
	}
	r.live.SetClaim(c)
}

func (r *barn) powerOff() error {
	_, err := r.gate.PowerOff(r.t.Context(), r.hosts[0], r.met(), r.all)
	return err
}

// Each thing that is not known, not so, or another's leaves the power of a host alone.
func TestTheGatePermitsToSwitchOffWhatIsProven(t *testing.T) {
	r := newBarn(t)
	p, err := r.gate.PowerOff(t.Context(), r.hosts[0], r.met(), r.all)
	require.NoError(t, err)
	s := gate.Subject{Machine: "metal-07", ClaimUID: "uid-std-000", Attempt: 1}
	require.NoError(t, p.Check(gate.PowerOff, s, r.now))
	require.Equal(t, r.met(), p.Identity())
	require.Contains(t, p.String(), "host metal-07 is PoweringOff for claim std-000")

	for name, c := range map[string]struct {
		change func(*barn)
		reason string
		says   string
	}{
		"the host was made again":         {func(r *barn) { r.hosts = []*v1alpha1.Host{again(r.hosts[0])} }, "NotAsked", "gone"},
		"the hosts cannot be read":        {func(r *barn) { r.list = errors.New("etcd is away") }, "NotAsked", "etcd is away"},
		"the rest cannot be read":         {func(r *barn) { r.api = errors.New("etcd is away") }, "NotOurs", "etcd is away"},
		"it serves":                       {func(r *barn) { r.host().Status.State = v1alpha1.HostReady }, "NotAsked", "Ready"},
		"it is another claim's by now":    {func(r *barn) { r.host().Status.Claim.UID = "another" }, "NotAsked", "not this claim's"},
		"it is at another attempt":        {func(r *barn) { r.host().Status.Claim.Attempt = 2 }, "NotAsked", "not this claim's"},
		"Muster did not switch it on":     {func(r *barn) { r.host().Status.SwitchedOn = false }, "NotAsked", "not switched on"},
		"it is another cluster's":         {func(r *barn) { r.host().Status.Claim.Cluster = "theirs" }, "NotOurs", "theirs"},
		"nothing was ever recorded":       {func(r *barn) { r.host().Status.Identity = nil }, "IdentityMismatch", "ever recorded"},
		"another UUID was recorded":       {func(r *barn) { r.host().Status.Identity.SystemUUID = otherUUID }, "IdentityMismatch", otherUUID},
		"a serial number was recorded":    {func(r *barn) { r.host().Status.Identity.Serial = "SN" }, "IdentityMismatch", "not told now"},
		"another Host has its BMC":        {func(r *barn) { r.hosts = append(r.hosts, metal("metal-99", "10.0.9.7:443", "")) }, "IdentityAmbiguous", "host metal-99"},
		"another Host has its UUID":       {func(r *barn) { r.hosts = append(r.hosts, metal("metal-99", "10.0.9.99", boardUUID)) }, "IdentityAmbiguous", "host metal-99"},
		"its Node takes pods":             {func(r *barn) { r.nodes[0].Spec.Unschedulable = false }, "NodeOpen", "metal-07"},
		"a pod is on its Node":            {func(r *barn) { r.runs("web", "metal-07") }, "PodsOnNode", "shop/web"},
		"a pod is on its Node's old name": {func(r *barn) { r.nodes = nil; r.runs("web", "metal-07") }, "PodsOnNode", "shop/web"},
		"a pod is on its Node's new name": {func(r *barn) {
			r.nodes = append(r.nodes, shut("renamed", "node-8", boardUUID))
			r.runs("web", "renamed")
		}, "PodsOnNode", "shop/web"},
		"its claim is gone, its pods stay": {func(r *barn) { r.live.ForgetClaim("std-000", "uid-std-000"); r.runs("web", "metal-07") }, "PodsOnNode", "shop/web"},
		"its Node may be another claim's": {func(r *barn) {
			r.claim("std-001", v1alpha1.ClaimReady, func(c *v1alpha1.NodeClaim) { c.Status.SystemUUID = boardUUID })
		}, "IdentityAmbiguous", "std-001"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newBarn(t)
			h, met := r.hosts[0].DeepCopy(), r.met()
			c.change(r)
			_, err := r.gate.PowerOff(t.Context(), h, met, r.all)
			var refusal *gate.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.reason, refusal.Reason, err)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// host is the one, as the API server has it.
func (r *barn) host() *v1alpha1.Host { return r.hosts[0] }

func again(h *v1alpha1.Host) *v1alpha1.Host {
	h = h.DeepCopy()
	h.UID = "made-again"
	return h
}

// A claim that is gone leaves a host that is to be switched off, and what it remembers is enough.
func TestAHostOfAClaimThatIsGoneIsSwitchedOff(t *testing.T) {
	r := newBarn(t)
	r.live.ForgetClaim("std-000", "uid-std-000")
	require.NoError(t, r.powerOff())
}

// A BMC without any identity has its Node for a witness: the one that registered after Muster had switched the host on.
func TestAHostWithoutIdentityIsSwitchedOffWithItsNodeForAWitness(t *testing.T) {
	mute := func() *barn {
		r := newBarn(t)
		h := r.host()
		h.Spec.Power = v1alpha1.Power{Interface: v1alpha1.PowerIPMI, Address: "10.0.9.7"}
		h.Spec.SystemUUID = boardUUID
		h.Status.Identity = &v1alpha1.MachineIdentity{Address: "10.0.9.7", SystemUUID: boardUUID}
		return r
	}
	tells := v1alpha1.MachineIdentity{Address: "10.0.9.7"}
	r := mute()
	_, err := r.gate.PowerOff(t.Context(), r.host(), tells, r.all)
	require.NoError(t, err)
	for name, change := range map[string]func(r *barn){
		"its node never registered":   func(r *barn) { r.host().Status.Claim.NodeUID, r.host().Status.Claim.NodeName = "", "" },
		"its node has another UUID":   func(r *barn) { r.nodes[0].Status.NodeInfo.SystemUUID = otherUUID },
		"its node is gone":            func(r *barn) { r.nodes = nil },
		"its node is another object":  func(r *barn) { r.nodes[0].UID = "recreated" },
		"no systemUUID was declared":  func(r *barn) { r.host().Status.Identity.SystemUUID = "" },
		"its node tells a factory ID": func(r *barn) { r.nodes[0].Status.NodeInfo.SystemUUID = "03000200-0400-0500-0006-000700080009" },
	} {
		r := mute()
		change(r)
		_, err := r.gate.PowerOff(t.Context(), r.host(), tells, r.all)
		var refusal *gate.Refusal
		require.ErrorAs(t, err, &refusal, name)
	}
}

// A host without a BMC is switched off by its Node: the Node's UUID is what counts, and the Pod that does it does not stop it.
func TestAHostWithoutABMCIsSwitchedOffByTheNodeWithItsUUID(t *testing.T) {
	asleep := func() *barn {
		r := newBarn(t)
		h := r.host()
		h.Spec.Power, h.Spec.SystemUUID = v1alpha1.Power{Interface: v1alpha1.PowerWoL, MAC: "52:54:00:00:00:07"}, boardUUID
		h.Status.Identity = &v1alpha1.MachineIdentity{MAC: "52:54:00:00:00:07", SystemUUID: boardUUID}
		return r
	}
	r := asleep()
	r.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "muster-poweroff", Name: "poweroff-metal-07", UID: "off",
		Labels: map[string]string{control.PowerOffLabel: "metal-07"}}, Spec: corev1.PodSpec{NodeName: "metal-07"}}}
	met := v1alpha1.MachineIdentity{MAC: "52:54:00:00:00:07", SystemUUID: boardUUID}
	_, err := r.gate.PowerOff(t.Context(), r.host(), met, r.all)
	require.NoError(t, err)
	for name, change := range map[string]func(r *barn){
		"its node has another UUID by now": func(r *barn) { r.nodes[0].Status.NodeInfo.SystemUUID = otherUUID },
		"its node is gone":                 func(r *barn) { r.nodes = nil },
		"another host has its MAC": func(r *barn) {
			o := metal("metal-99", "", otherUUID)
			o.Spec.Power = v1alpha1.Power{Interface: v1alpha1.PowerWoL, MAC: "52:54:00:00:00:07"}
			r.hosts = append(r.hosts, o)
		},
	} {
		r := asleep()
		change(r)
		_, err := r.gate.PowerOff(t.Context(), r.host(), met, r.all)
		var refusal *gate.Refusal
		require.ErrorAs(t, err, &refusal, name)
	}
}

// A host is handed on when nothing of its last claim is left: no claim names it, its Node is gone, no pod has that Node's name.
func TestM06AHostIsHandedOnWhenNothingOfItsLastClaimIsLeft(t *testing.T) {
	next := provider.Request{Claim: "std-001", ClaimUID: "uid-std-001", Attempt: 1, Pool: "std"}
	free := func() *barn {
		r := newBarn(t)
		h := r.host()
		h.Status.State, h.Status.SwitchedOn = v1alpha1.HostOff, false
		h.Status.Released, h.Status.Claim = h.Status.Claim, nil
		h.Spec.SystemUUID = boardUUID
		r.live.ForgetClaim("std-000", "uid-std-000")
		r.nodes = nil
		r.claim("std-001", v1alpha1.ClaimLaunching, nil)
		return r
	}
	r := free()
	p, err := r.gate.HandOver(t.Context(), r.host(), next, r.all)
	require.NoError(t, err)
	require.NoError(t, p.Check(gate.HandOver, gate.Subject{Machine: "metal-07", ClaimUID: "uid-std-001", Attempt: 1}, r.now))
	holding := func(c *v1alpha1.NodeClaim) { c.Status.MachineID, c.Status.Host = "metal-07", "metal-07" }
	for name, c := range map[string]struct {
		change func(*barn)
		reason string
	}{
		"an old claim has it, and its Host was made again": {func(r *barn) {
			fresh := metal("metal-07", "10.0.9.7", boardUUID)
			fresh.UID = "made-again"
			r.hosts[0] = fresh
			r.claim("std-009", v1alpha1.ClaimReady, holding)
		}, "IdentityAmbiguous"},
		"its last claim does not know yet": {func(r *barn) { r.claim("std-009", v1alpha1.ClaimReleasing, holding) }, "IdentityAmbiguous"},
		"its last Node is there":           {func(r *barn) { r.nodes = []*corev1.Node{shut("metal-07", "node-7", boardUUID)} }, "NodeRemains"},
		"its last Node was renamed":        {func(r *barn) { r.nodes = []*corev1.Node{shut("renamed", "node-9", boardUUID)} }, "NodeRemains"},
		"a pod has its last Node's name":   {func(r *barn) { r.pods = nil; r.runs("web", "metal-07") }, "PodsOnNode"},
		"another Host is the same machine": {func(r *barn) { r.hosts = append(r.hosts, metal("metal-99", "10.0.9.7", "")) }, "IdentityAmbiguous"},
		"it has a claim by now":            {func(r *barn) { r.host().Status.Claim = &v1alpha1.HostClaim{Name: "x", UID: "x"} }, "NotAsked"},
		"its claim is gone":                {func(r *barn) { r.live.ForgetClaim("std-001", "uid-std-001") }, "NotAsked"},
		"its claim asks no more":           {func(r *barn) { r.claim("std-001", v1alpha1.ClaimReleasing, nil) }, "NotAsked"},
		"the API server is away":           {func(r *barn) { r.api = errors.New("away") }, "NotAsked"},
		"the hosts cannot be read":         {func(r *barn) { r.list = errors.New("away") }, "NotAsked"},
	} {
		t.Run(name, func(t *testing.T) {
			r := free()
			c.change(r)
			_, err := r.gate.HandOver(t.Context(), r.hosts[0], next, r.all)
			var refusal *gate.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.reason, refusal.Reason, err)
		})
	}
	r = free()
	r.claim("std-009", v1alpha1.ClaimReleasing, func(c *v1alpha1.NodeClaim) {
		holding(c)
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionLaunched, Status: metav1.ConditionFalse, Reason: lifecycle.ReasonGone}}
	})
	_, err = r.gate.HandOver(t.Context(), r.host(), next, r.all)
	require.NoError(t, err, "its last claim knows that it is gone")
	r = free()
	r.nodes = []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "somebody-elses", UID: "x"}}}
	r.hosts = []*v1alpha1.Host{metal("metal-07", "10.0.9.7", boardUUID)}
	_, err = r.gate.HandOver(t.Context(), r.host(), next, r.all)
	require.NoError(t, err, "a new host, beside Nodes that are none of it")
}

func TestWhetherAClaimExistsIsAskedOfTheAPIServer(t *testing.T) {
	r := newBarn(t)
	there, err := r.gate.Claimed(t.Context(), "uid-std-000")
	require.NoError(t, err)
	require.True(t, there)
	there, err = r.gate.Claimed(t.Context(), "nobody")
	require.NoError(t, err)
	require.False(t, there)
	r.api = errors.New("away")
	there, err = r.gate.Claimed(t.Context(), "nobody")
	require.Error(t, err)
	require.True(t, there, "not knowing is yes here")
}
