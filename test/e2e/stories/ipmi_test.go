package stories

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host/ipmi/ipmisim"
	"github.com/muster-sh/muster/provider/host/wol"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// The secrets of the room: they may be in no log.
const (
	ipmiCanary = "canary-ipmi-pw"
	wolCanary  = "ca:4a:27:5e:c2:e7"
	sleeperMAC = "52:54:00:12:34:56"
)

// room has two hosts behind BMCs that speak IPMI only, of which one does not react to a soft shutdown, and one without a BMC.
type room struct {
	s       *stage.Stage
	bmcs    map[string]*ipmisim.BMC
	sleeper *sleeper
}

func newRoom(s *stage.Stage) *room {
	r := &room{s: s, bmcs: map[string]*ipmisim.BMC{}}
	bmc := entrust(s, "ipmi", map[string]string{"username": "root", "password": ipmiCanary})
	for n, deaf := range []bool{false, true} {
		b, err := ipmisim.Listen(s.Ctx, ipmisim.Config{Username: "root", Password: ipmiCanary, Delay: time.Second, Deaf: deaf, GUID: metalGUID(n), Now: time.Now})
		require.NoError(s.T, err)
		name := fmt.Sprintf("ipmi-%d", n)
		r.bmcs[name] = b
		r.host(name, metalUUID(n), v1alpha1.Power{Interface: v1alpha1.PowerIPMI, Address: b.Address, Boot: v1alpha1.BootPXE, Credentials: bmc})
	}
	r.sleeper = newSleeper(s, "wol-0", metalUUID(2), sleeperMAC, wolCanary)
	r.host("wol-0", metalUUID(2), v1alpha1.Power{Interface: v1alpha1.PowerWoL, MAC: sleeperMAC, Broadcast: r.sleeper.card.LocalAddr().String(),
		Credentials: entrust(s, "wol", map[string]string{wol.KeySecureOn: wolCanary})})
	create(s, &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "room"}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderIPMI,
		Hosts: &v1alpha1.HostRules{Settle: seconds(1), OnRetry: seconds(20), ShutdownTimeout: seconds(5), OffRetry: seconds(5),
			WatchEvery: seconds(2), IdleEvery: seconds(5)}}})
	go r.boot()
	return r
}

// metalGUID is metalUUID as firmware writes it.
func metalGUID(n int) [16]byte {
	return [16]byte{0x6d, 0x75, 0x73, 0x74, 0x65, 0x72, 0x40, 0x00, 0x80, 0, 0, 0, 0, 0, 0, byte(n)} //nolint:gosec // a few hosts
}

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

func (r *room) host(name, uuid string, power v1alpha1.Power) {
	create(r.s, &v1alpha1.Host{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.HostSpec{Provider: "room", SystemUUID: uuid,
		Resources: stage.Resources("cpu", "8", "memory", "16Gi"), Power: power}})
}

// boot registers the nodes of hosts with a BMC; the one without has a kubelet of its own.
func (r *room) boot() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for r.s.Ctx.Err() == nil {
		for n, name := range []string{"ipmi-0", "ipmi-1"} {
			if r.bmcs[name].IsOn() {
				register(r.s, name, "", metalUUID(n), stage.Resources("cpu", "8", "memory", "16Gi", "pods", "110"))
			}
		}
		<-tick.C
	}
}

// isOn is what the hardware says.
func (r *room) isOn(name string) bool {
	if b := r.bmcs[name]; b != nil {
		return b.IsOn()
	}
	return name == r.sleeper.name && r.sleeper.isOn()
}

// List is what the witness sees.
func (r *room) List(ctx context.Context) ([]witness.Machine, error) {
	return powered(ctx, r.s, "room", r.isOn)
}

// TestHostsByIPMIAndWakeOnLANServePodsAndGoOff: three pods wake three hosts, each by what it has: a BMC that speaks IPMI or a
// card that hears its magic packet. When the pods leave, each host is seen off: by a soft shutdown, by its power where it does
// not react to one, and by the privileged Pod where it has no BMC; and what did that is not left behind.
func TestHostsByIPMIAndWakeOnLANServePodsAndGoOff(t *testing.T) {
	s := stage.New(t, kit)
	_, err := s.Plane.Kubectl(s.Ctx, "apply", "-f", s.Kit.File("deploy/components/poweroff/poweroff.yaml"))
	require.NoError(t, err)
	r := newRoom(s)
	s.Watch(r)
	s.Apply(stage.Pool("room", 3, []v1alpha1.Shape{stage.Shape("h", "cpu", "8", "memory", "16Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.Provider = "room"
		p.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{}}
	}))
	replica := s.Place(stage.ReplicaOptions{})

	var pods []*corev1.Pod
	for n := range 3 {
		pods = append(pods, s.Pod(fmt.Sprintf("work-%d", n), stage.Resources("cpu", "7")))
	}
	pods = s.Create(pods...)
	t.Logf("all run after %s", s.AwaitRunning(soon, pods...).Round(100*time.Millisecond))
	s.WholeAndPaired()
	for name := range hostsOf(s) {
		require.True(t, r.isOn(name), "%s is on", name)
	}
	require.Zero(t, r.sleeper.strange, "nothing but its magic packet with its password reaches the card")

	s.DeletePods()
	t.Logf("all off after %s", s.Await(3*time.Minute, "every host to be off and free", func() error { return r.rest() }).Round(100*time.Millisecond))
	s.WholeAndPaired()
	require.Empty(t, s.MustClaims(""))
	require.Contains(t, r.bmcs["ipmi-0"].Ops(), "shutdown")
	require.NotContains(t, r.bmcs["ipmi-0"].Ops(), "off", "it had shut down")
	require.Contains(t, r.bmcs["ipmi-1"].Ops(), "off", "it did not react to the shutdown")
	require.NotEmpty(t, r.sleeper.offBy, "a Pod switched it off")
	left, err := s.Plane.Client.CoreV1().Pods(wol.DefaultPodConfig().Namespace).List(s.Ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, left.Items, "it would be switched off again")
	for _, canary := range []string{ipmiCanary, wolCanary} {
		keepsSecret(s, replica, canary)
	}
}

// rest wants nothing claimed, nothing on and no Node left.
func (r *room) rest() error {
	for name, status := range hostsOf(r.s) {
		if status.Claim != nil || r.isOn(name) || status.State != v1alpha1.HostOff {
			return fmt.Errorf("%s is %s: %s", name, status.State, status.Message)
		}
	}
	nodes, err := r.s.Plane.Client.CoreV1().Nodes().List(r.s.Ctx, metav1.ListOptions{})
	if err == nil && len(nodes.Items) > 0 {
		err = fmt.Errorf("node %s is left", nodes.Items[0].Name)
	}
	return err
}
