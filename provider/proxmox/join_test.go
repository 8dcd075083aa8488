package proxmox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

const canaryUserData = "canary-40ce-user-data"

// joinRig gives machines an image each to join with.
func joinRig(t *testing.T) *rig {
	r := newRig(t)
	r.withJoin()
	return r
}

// withJoin has machines be given what they join with.
func (r *rig) withJoin() {
	r.spec.Join = &v1alpha1.ProxmoxJoin{Storage: "iso", Templates: v1alpha1.SecretReference{Namespace: "muster-system", Name: "join"},
		Token: &v1alpha1.ProxmoxJoinToken{Groups: []string{"system:bootstrappers:kubeadm:default-node-token"}}}
	r.secret = map[string][]byte{"user-data": []byte("#cloud-config\n# " + canaryUserData + "\nhostname: {{.Node}}\n" +
		"runcmd: [kubeadm join --token {{.Token}} --node-labels=vmid={{.Machine}},host={{.Host}}]\n")}
}

func (r *rig) tokens(t *testing.T) []corev1.Secret {
	t.Helper()
	list, err := r.kube.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// requireClean holds that nothing of what machines join with is anywhere.
func (r *rig) requireClean(t *testing.T) {
	t.Helper()
	require.Empty(t, r.tokens(t), "tokens")
	require.Empty(t, r.cluster.Volumes(), "images")
	for _, vm := range r.cluster.VMs() {
		for name, value := range vm.Config {
			require.NotContains(t, value, ".iso", "%d: %s", vm.ID, name)
			require.NotContains(t, value, canaryUserData, "%d: %s", vm.ID, name)
		}
	}
}

func (r *rig) vm(t *testing.T, id provider.ID) pvesim.VM {
	t.Helper()
	vm, there := r.cluster.VM(mustNumber(t, id))
	require.True(t, there)
	return vm
}

// join says that the node is there, until nothing is left of what it joined with.
func join(t *testing.T, r *rig, p func() *proxmox.Provider, req provider.Request) {
	t.Helper()
	req.Joined = true
	for range 20 {
		m, err := p().Create(t.Context(), req)
		if err == nil && !m.Seeded {
			return
		}
		r.advance(5 * time.Second)
	}
	require.Fail(t, "what it joined with does not go")
}

func TestAMachineJoinsWithWhatIsTakenAwayThen(t *testing.T) {
	r := joinRig(t)
	r.cluster.Change(templateID, func(vm *pvesim.VM) { vm.Config["ide0"] = "shared:vm-9000-cloudinit,media=cdrom" })
	r.spec.Join.Device = "sata0"
	p := always(r.provider(t))
	req := request(1)
	m := boot(t, r, p, &req)
	require.True(t, m.Seeded)
	vm := r.vm(t, m.ID)
	image := "iso:iso/muster-" + m.SystemUUID + ".iso"
	require.Equal(t, image+",media=cdrom", vm.Config["sata0"])
	require.NotContains(t, vm.Config, "ide0", "a second drive with the label cidata")
	tokens := r.tokens(t)
	require.Len(t, tokens, 1)
	token := tokens[0].StringData["token-id"] + "." + tokens[0].StringData["token-secret"]
	expires, err := time.Parse(time.RFC3339, tokens[0].StringData["expiration"])
	require.NoError(t, err)
	require.LessOrEqual(t, expires.Sub(r.now()), 20*time.Minute)
	content := string(r.cluster.Volumes()[" "+image])
	require.Contains(t, content, "hostname: "+m.NodeName+"\n")
	require.Contains(t, content, "--token "+token+" --node-labels=vmid="+string(m.ID)+",host="+m.Host+"]")
	require.Contains(t, content, "instance-id: "+m.SystemUUID+"\nlocal-hostname: "+m.NodeName+"\n")
	for _, value := range vm.Config {
		require.NotContains(t, value, tokens[0].StringData["token-secret"])
	}

	r.cluster.Change(vm.ID, func(vm *pvesim.VM) { vm.Config["description"] += "watched by ops\n" })
	join(t, r, p, req)
	r.requireClean(t)
	after := r.vm(t, m.ID)
	require.Equal(t, "none,media=cdrom", after.Config["sata0"])
	require.Contains(t, after.Config["description"], "watched by ops\n", "other people's notes stay")
	require.True(t, after.Running)
	require.Zero(t, after.Stops)
	got, err := p().Get(t.Context(), m)
	require.NoError(t, err)
	require.False(t, got.Seeded)
	join(t, r, p, req) // again changes nothing
	gone(t, r, p, m)
	require.Zero(t, r.count())
}

func TestNothingSecretStaysWhenMusterIsKilledAfterEveryStep(t *testing.T) {
	for name, joins := range map[string]bool{"after the machine joined": true, "of a machine that never joined": false} {
		t.Run(name, func(t *testing.T) {
			r := joinRig(t)
			r.spec.Join.Storage = "local"
			fresh := func() *proxmox.Provider { return r.provider(t) }
			req := request(1)
			m := boot2(t, r, &req)
			require.Len(t, r.tokens(t), 1)
			require.Len(t, r.cluster.Volumes(), 1)
			if joins {
				join(t, r, fresh, req)
				r.requireClean(t)
			}
			gone(t, r, fresh, m)
			require.Zero(t, r.count())
			r.requireClean(t)
		})
	}
}

// boot2 boots with two processes that take turns of four: whoever forgot that an image is there makes another one.
func boot2(t *testing.T, r *rig, req *provider.Request) provider.Machine {
	t.Helper()
	turn, p := 0, r.provider(t)
	return boot(t, r, func() *proxmox.Provider {
		if turn++; turn%4 == 0 {
			p = r.provider(t)
		}
		return p
	}, req)
}

func TestAnImageGoesThoughItsMachineWasRemovedBySomebody(t *testing.T) {
	for _, storage := range []string{"iso", "local"} {
		r := joinRig(t)
		r.spec.Join.Storage = storage
		req := request(1)
		m := boot(t, r, always(r.provider(t)), &req)
		r.cluster.Remove(mustNumber(t, m.ID))
		require.Len(t, r.cluster.Volumes(), 1)
		restarted := r.provider(t)
		_, err := restarted.Get(t.Context(), m)
		require.ErrorIs(t, err, provider.ErrNotFound)
		gone(t, r, always(restarted), m)
		r.requireClean(t)
	}
}

func TestAKeptMachineHasNothingToJoinWith(t *testing.T) {
	r := joinRig(t)
	p := always(r.provider(t))
	first := request(1)
	first.Keep = true
	m := boot(t, r, p, &first)
	gone(t, r, p, m)
	require.Equal(t, 1, r.count())
	r.requireClean(t)
	second := request(2)
	again := boot(t, r, p, &second)
	require.Equal(t, m.ID, again.ID)
	require.True(t, again.Seeded)
	require.Contains(t, string(r.cluster.Volumes()[" iso:iso/muster-"+again.SystemUUID+".iso"]), "hostname: "+again.NodeName)
	join(t, r, p, second)
	r.requireClean(t)
}

func TestWhatAMachineCannotJoinWithIsTold(t *testing.T) {
	forbid := func(r *rig) {
		r.kube.PrependReactor("create", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "bootstrap-token-x", nil)
		})
	}
	for name, c := range map[string]struct {
		change func(*rig)
		want   string
	}{
		"there is no Secret":                  {func(r *rig) { r.secret = nil }, "not found"},
		"the template names what is not":      {func(r *rig) { r.secret["user-data"] = []byte("#cloud-config\n# " + canaryUserData + "\n{{.Oops}}") }, "user-data: the template cannot be filled in, line 3"},
		"the user-data is nobody's":           {func(r *rig) { r.secret["user-data"] = []byte(canaryUserData) }, "begins with #cloud-config"},
		"tokens are not allowed":              {forbid, "forbidden"},
		"the token may not upload":            {func(r *rig) { r.without("/storage/iso", "Datastore.AllocateTemplate") }, "Datastore.AllocateTemplate"},
		"the storage takes no images":         {func(r *rig) { r.spec.Join.Storage = "shared" }, "Permission check failed (/storage/shared, Datastore.AllocateTemplate)"},
		"the token may not change the drives": {func(r *rig) { r.without("/pool/"+pool, "VM.Config.CDROM") }, "VM.Config.CDROM"},
	} {
		t.Run(name, func(t *testing.T) {
			r := joinRig(t)
			c.change(r)
			p, req := r.provider(t), request(1)
			var err error
			for range 12 {
				if _, err = step(t, p, &req); err != nil {
					break
				}
				r.advance(15 * time.Second)
			}
			require.ErrorIs(t, err, provider.ErrMisconfigured)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), canaryUserData)
			text := ""
			for _, f := range p.Check(t.Context()) {
				if f.Level == provider.LevelError {
					text += f.Message + " "
				}
			}
			require.NotEmpty(t, text, "the self-test finds it before a machine is made")
			require.NotContains(t, text, canaryUserData)
		})
	}
	r := joinRig(t)
	for _, f := range r.provider(t).Check(t.Context()) {
		require.Equal(t, provider.LevelOK, f.Level, f.Subject+": "+f.Message)
	}
	require.Empty(t, r.tokens(t))
}

// without takes one permission away.
func (r *rig) without(path, permission string) {
	rights := enough()
	for i, name := range rights[path] {
		if name == permission {
			rights[path] = append(rights[path][:i], rights[path][i+1:]...)
			break
		}
	}
	r.cluster.Allow(rights)
}

func TestWhatIsWrongWithJoinStopsTheStart(t *testing.T) {
	long := metav1.Duration{Duration: 31 * time.Minute}
	for want, change := range map[string]func(*v1alpha1.Proxmox){
		"ttl 31m0s":          func(s *v1alpha1.Proxmox) { s.Join.Token.TTL = &long },
		"storage and":        func(s *v1alpha1.Proxmox) { s.Join.Storage = "" },
		"exclude each other": func(s *v1alpha1.Proxmox) { s.CloudInit = &v1alpha1.ProxmoxCloudInit{User: "core"} },
		"exactly one of":     func(s *v1alpha1.Proxmox) { s.Netboot = &v1alpha1.ProxmoxNetboot{} },
	} {
		r := joinRig(t)
		change(r.spec)
		_, err := proxmox.New(proxmox.Config{Spec: r.spec})
		require.ErrorContains(t, err, want)
	}
}

func TestATokenOfAPoolMayNotOutliveHalfAnHour(t *testing.T) {
	r, req := newRig(t), request(1)
	req.Proxmox = &v1alpha1.ProxmoxMachine{Join: &v1alpha1.ProxmoxJoin{Storage: "local", Templates: v1alpha1.SecretReference{Namespace: "x", Name: "y"},
		Token: &v1alpha1.ProxmoxJoinToken{TTL: &metav1.Duration{Duration: 30*time.Minute + time.Second}}}}
	_, err := r.provider(t).Create(t.Context(), req)
	require.ErrorIs(t, err, provider.ErrRefused)
	require.ErrorContains(t, err, "proxmox.join.token.ttl 30m1s: must be at least 1m and at most 30m0s")
	require.Contains(t, provider.HintOf(err), "template.proxmox")
	require.Zero(t, r.count())
	require.Empty(t, r.tokens(t))
}

// The image is made and taken away over a wire on which everything goes wrong once, at each request in turn.
func TestJoiningGoesOnAfterEveryFault(t *testing.T) {
	t.Parallel()
	for _, fault := range []pvesim.Fault{{Status: 595}, {Status: 596}, {Status: 596, Done: true}, {Status: 500, Message: "VM is locked (backup)"},
		{Status: 500, Message: "something else"}} {
		for at := range 40 {
			r := joinRig(t)
			p, req := r.provider(t), request(1)
			requests := 0
			strike := func() {
				if requests++; requests == at {
					r.cluster.Break(fault)
				}
			}
			m := boot(t, r, func() *proxmox.Provider { strike(); return p }, &req)
			join(t, r, func() *proxmox.Provider { strike(); return p }, req)
			r.requireClean(t)
			gone(t, r, func() *proxmox.Provider { strike(); return p }, m)
			require.Zero(t, r.count())
			r.requireClean(t)
			if requests < at {
				break
			}
		}
	}
}

func TestProxmoxKeepsTheContractWithImages(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, joinRig)
}

func TestImagesOfIgnitionAndTalos(t *testing.T) {
	for format, userData := range map[string]string{
		"Ignition": `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,{{.Node}}"}}]}}`,
		"Talos":    "version: v1alpha1\nmachine:\n  type: worker\n  network:\n    hostname: {{.Node}}\n",
	} {
		r := joinRig(t)
		r.spec.Join.Format, r.spec.Join.Token = format, nil
		r.secret = map[string][]byte{"user-data": []byte(userData)}
		req := request(1)
		m := boot(t, r, always(r.provider(t)), &req)
		require.Empty(t, r.tokens(t), "nobody asked for one")
		want := strings.ReplaceAll(userData, "{{.Node}}", m.NodeName)
		require.Contains(t, string(r.cluster.Volumes()[fmt.Sprintf(" iso:iso/muster-%s.iso", m.SystemUUID)]), want)
		join(t, r, always(r.provider(t)), req)
		r.requireClean(t)
	}
}

func TestAMachineThatBootsFromItsNetworkMayJoinByAnImage(t *testing.T) {
	r := joinRig(t)
	r.spec.Template = v1alpha1.ProxmoxTemplate{}
	r.spec.Netboot = &v1alpha1.ProxmoxNetboot{}
	r.spec.Networks = []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr1"}}
	p, req := always(r.provider(t)), request(1)
	m := boot(t, r, p, &req)
	require.True(t, m.Seeded)
	require.Contains(t, r.vm(t, m.ID).Config["ide2"], ".iso,media=cdrom")
	join(t, r, p, req)
	r.requireClean(t)
}

// A pool's own way to join is found again by who knows nothing but the claim.
func TestAPoolMayJoinInAnotherWay(t *testing.T) {
	r := newRig(t)
	r.secret = map[string][]byte{"user-data": []byte("#cloud-config\n# " + canaryUserData + "\n")}
	req := request(1)
	req.Proxmox = &v1alpha1.ProxmoxMachine{Join: &v1alpha1.ProxmoxJoin{Storage: "local", Templates: v1alpha1.SecretReference{Namespace: "x", Name: "y"},
		Token: &v1alpha1.ProxmoxJoinToken{}}}
	m := boot(t, r, always(r.provider(t)), &req)
	require.True(t, m.Seeded)
	require.Len(t, r.tokens(t), 1)
	gone(t, r, always(r.provider(t)), m)
	r.requireClean(t)
}

// What an image adds to the requests for one machine.
func TestCallsForAMachineThatJoinsByAnImage(t *testing.T) {
	r := joinRig(t)
	r.viewAge = time.Second
	p, req := always(r.provider(t)), request(1)
	m := provider.Machine{}
	for m.State != provider.StateRunning {
		var err error
		m, err = step(t, p(), &req)
		require.NoError(t, err)
		r.advance(2 * time.Second)
	}
	made := len(r.cluster.Requests())
	join(t, r, p, req)
	taken := len(r.cluster.Requests())
	t.Logf("requests: %d until it runs, %d to take away what it joined with", made, taken)
	require.LessOrEqual(t, made, 30)
	require.LessOrEqual(t, taken, 20)
}
