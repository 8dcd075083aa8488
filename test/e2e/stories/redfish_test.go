package stories

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// bmcCanary is the password of every BMC: it may be in no log.
const bmcCanary = "canary-bmc-password"

// metal is a room of hosts behind BMCs that speak Redfish over TLS. A host that is on registers its Node.
type metal struct {
	s    *stage.Stage
	n    int // hosts
	bmcs map[string]*redfishsim.BMC
	// never joins: its operating system does not come up.
	dead map[string]bool
}

const metalHosts = 12

func metalName(n int) string { return fmt.Sprintf("metal-%02d", n) }
func metalUUID(n int) string { return fmt.Sprintf("6d757374-6572-4000-8000-%012d", n) }

// newMetal makes the hosts with their Host objects, Secret and Provider; odd changes what one of them is like.
func newMetal(s *stage.Stage, hosts int, odd map[int]func(*redfishsim.BMC)) *metal {
	m := &metal{s: s, n: hosts, bmcs: map[string]*redfishsim.BMC{}, dead: map[string]bool{}}
	secret := entrust(s, "bmc", map[string]string{"username": "root", "password": bmcCanary})
	kinds := []redfishsim.Personality{redfishsim.ILO5(), redfishsim.IDRAC9(), redfishsim.SupermicroX10(), redfishsim.Quanta()}
	for n := range hosts {
		p := kinds[n%len(kinds)]
		p.Delay, p.Quiet = time.Second, time.Second
		bmc := &redfishsim.BMC{Personality: p, UUID: metalUUID(n), Username: "root", Password: bmcCanary, Now: time.Now}
		if change := odd[n]; change != nil {
			change(bmc)
		}
		server := httptest.NewTLSServer(bmc)
		s.T.Cleanup(server.Close)
		m.bmcs[metalName(n)] = bmc
		create(s, &v1alpha1.Host{ObjectMeta: metav1.ObjectMeta{Name: metalName(n)}, Spec: v1alpha1.HostSpec{
			Provider: "metal", Resources: stage.Resources("cpu", "8", "memory", "16Gi"),
			Power: v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: server.URL, Boot: v1alpha1.BootPXE,
				Credentials: secret,
				TLS:         &v1alpha1.TLS{Fingerprint: dial.Fingerprint(server.Certificate())}},
		}})
	}
	create(s, &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "metal"}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderRedfish}})
	go m.boot()
	return m
}

// boot registers the Node of every host that is on, until the story ends.
func (m *metal) boot() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for m.s.Ctx.Err() == nil {
		for n := range m.n {
			if name := metalName(n); m.bmcs[name].IsOn() && !m.dead[name] {
				register(m.s, name, "", metalUUID(n), stage.Resources("cpu", "8", "memory", "16Gi", "pods", "110"))
			}
		}
		<-tick.C
	}
}

// on counts the hosts that are.
func (m *metal) on() (n int) {
	for _, bmc := range m.bmcs {
		if bmc.IsOn() {
			n++
		}
	}
	return n
}

func (m *metal) hosts() map[string]v1alpha1.HostStatus { return hostsOf(m.s) }

// List is what the witness sees.
func (m *metal) List(ctx context.Context) ([]witness.Machine, error) {
	return powered(ctx, m.s, "metal", func(name string) bool { return m.bmcs[name].IsOn() })
}

// TestRedfishHostsServePodsAlthoughSomeLie: twelve hosts, of which two lie, one never joins and one has a busy BMC. Every
// pod runs; at the end nothing is claimed, nothing is on, and no log has the password.
func TestRedfishHostsServePodsAlthoughSomeLie(t *testing.T) {
	s := stage.New(t, kit)
	m := newMetal(s, metalHosts, map[int]func(*redfishsim.BMC){
		0: func(b *redfishsim.BMC) { b.Lies = true },
		1: func(b *redfishsim.BMC) { b.Lies = true },
		3: func(b *redfishsim.BMC) { b.Busy(20) },
	})
	m.dead[metalName(2)] = true
	s.Watch(m)
	s.Apply(stage.Pool("metal", metalHosts, []v1alpha1.Shape{stage.Shape("m", "cpu", "8", "memory", "16Gi")},
		func(p *v1alpha1.NodePool) {
			p.Spec.Provider = "metal"
			p.Spec.ScaleUp.RegistrationTimeout = &metav1.Duration{Duration: 5 * time.Minute}
		}))
	replica := s.Place(stage.ReplicaOptions{})

	var pods []*corev1.Pod
	for n := range 6 {
		pods = append(pods, s.Pod(fmt.Sprintf("work-%d", n), stage.Resources("cpu", "7", "memory", "1Gi")))
	}
	pods = s.Create(pods...)
	t.Logf("all run after %s", s.AwaitRunning(12*time.Minute, pods...))
	on := 0
	for name, status := range m.hosts() {
		if m.bmcs[name].IsOn() {
			on++
			require.NotNil(t, status.Claim, "%s is on for a claim", name)
		}
	}
	require.Equal(t, 6, on, "one host for a pod: what a liar's claim launches again is not bought beside it")
	require.LessOrEqual(t, on, len(s.MustClaims("metal")), "one host for a claim")
	t.Logf("hosts: %s", statesOf(m.hosts()))

	for _, c := range s.MustClaims("metal") {
		require.NoError(t, s.Plane.Objects.Delete(s.Ctx, &c))
	}
	for _, p := range pods {
		s.Delete(p)
	}
	s.Await(5*time.Minute, "every host to be off and free", func() error {
		for name, status := range m.hosts() {
			if status.Claim != nil || m.bmcs[name].IsOn() {
				return fmt.Errorf("%s is %s: %s", name, status.State, status.Message)
			}
		}
		return nil
	})
	t.Logf("hosts: %s", statesOf(m.hosts()))
	s.WholeAndPaired()
	s.Await(soon, "the nodes to be gone", func() error {
		nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
		if err == nil && len(nodes.Items) > 0 {
			err = fmt.Errorf("node %s is left", nodes.Items[0].Name)
		}
		return err
	})
	for _, name := range []string{metalName(0), metalName(1)} {
		require.Equal(t, v1alpha1.HostQuarantined, m.hosts()[name].State, name)
	}
	keepsSecret(s, replica, bmcCanary)
}

func statesOf(hosts map[string]v1alpha1.HostStatus) string {
	var out []string
	for n := range metalHosts {
		h := hosts[metalName(n)]
		out = append(out, fmt.Sprintf("%s=%s/%s", metalName(n), h.State, h.Power))
	}
	return strings.Join(out, " ")
}
