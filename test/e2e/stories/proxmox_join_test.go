package stories

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// seedCanary is in what machines join with: it may be in no log, and on no storage when they have joined.
const seedCanary = "canary-user-data"

// seeded has the pool's machines boot from the network, each with an image of its own and a bootstrap token in it.
func (l *lab) seeded(pool *v1alpha1.NodePool) *v1alpha1.NodePool {
	s := l.s
	s.T.Helper()
	_, err := s.Plane.Kubectl(s.Ctx, "apply", "-f", s.Kit.File("deploy/components/join/tokens.yaml"))
	require.NoError(s.T, err)
	rights := labRights()
	rights["/storage/local"] = []string{"Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit"}
	rights["/pool/"+labPool] = append(rights["/pool/"+labPool], "VM.Config.CDROM")
	l.cluster.Allow(rights)
	templates := entrust(s, "join", map[string]string{"user-data": "#cloud-config\n# " + seedCanary + "\nhostname: {{.Node}}\n" +
		"runcmd: [kubeadm join --token {{.Token}}]\n"})
	pool.Spec.Template.Proxmox = &v1alpha1.ProxmoxMachine{
		Netboot:  &v1alpha1.ProxmoxNetboot{Storage: "local-lvm"},
		Networks: []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr0", MACPrefix: "BC:24:11"}},
		Join:     &v1alpha1.ProxmoxJoin{Templates: *templates, Storage: "local", Token: &v1alpha1.ProxmoxJoinToken{}},
	}
	return pool
}

// tokens are the bootstrap tokens that Muster made.
func (l *lab) tokens() []corev1.Secret {
	l.s.T.Helper()
	list, err := l.s.Plane.Client.CoreV1().Secrets(metav1.NamespaceSystem).List(l.s.Ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=muster"})
	require.NoError(l.s.T, err)
	return list.Items
}

// clean is nil when no image and no token is left, and no VM names one.
func (l *lab) clean() error {
	if tokens := l.tokens(); len(tokens) > 0 {
		return fmt.Errorf("%d bootstrap tokens are left, the first is %s", len(tokens), tokens[0].Name)
	}
	for name := range l.cluster.Volumes() {
		return fmt.Errorf("the image %q is left", name)
	}
	for id, vm := range l.ours() {
		for key, value := range vm.Config {
			if strings.Contains(value, ".iso") {
				return fmt.Errorf("VM %d has %s: %s", id, key, value)
			}
		}
	}
	return nil
}

// TestMusterKilledWhileMachinesAreGivenWhatTheyJoinWith: machines boot from the network, each with an image and a bootstrap
// token, and Muster is killed before and after each request that makes one, puts the image where it belongs, into its drive,
// out of it, and away. Each pod gets its machine, and of what it joined with nothing stays: no image, no token.
func TestMusterKilledWhileMachinesAreGivenWhatTheyJoinWith(t *testing.T) {
	steps := killings( // the other story has the tasks, and the start
		snare{method: http.MethodPost, suffix: "/qemu"},
		snare{method: http.MethodPost, suffix: "/upload"}, // the token is there
		snare{method: http.MethodPut, suffix: "/config"},
		snare{method: http.MethodPut, suffix: "/config", skip: 1}, // ejected; the token is gone
		snare{method: http.MethodDelete, suffix: ".iso"},
	)
	steps = append(steps, snare{method: http.MethodGet, suffix: "/status", part: ":imgcopy:"},
		snare{method: http.MethodPut, suffix: "/config", skip: 2}) // its notes forget it
	s := stage.New(t, kit)
	l := newLab(s)
	s.Watch(l)
	pool := l.seeded(labNodes(int32(len(steps)) + 1))
	pool.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{}}
	s.Apply(pool)
	replica := s.Place(stage.ReplicaOptions{Flags: []string{"--settle=1s"}})

	l.madeThrough(replica, steps, l.clean)
	for _, vm := range l.ours() {
		require.Equal(t, "order=net0;scsi0", vm.Config["boot"])
		require.Equal(t, "none,media=cdrom", vm.Config["ide2"])
	}
	l.neverJoins(replica, int32(len(steps)))

	s.DeletePods()
	s.Await(3*time.Minute, "every VM to be gone", l.empty)
	require.NoError(t, l.clean())
	l.othersUntouched()
	keepsSecret(s, replica, labCanary)
	keepsSecret(s, replica, seedCanary)
}

// neverJoins has a machine that holds an image and a token, and whose node never comes, be given up while Muster is killed.
func (l *lab) neverJoins(replica *stage.Replica, before int32) {
	s := l.s
	s.T.Helper()
	l.mute(true)
	lost := s.Create(s.Pod("lost", stage.Resources("cpu", "3")))[0]
	s.Await(soon, "a machine to run with its image", func() error {
		if len(l.tokens()) != 1 || len(l.cluster.Volumes()) != 1 || len(l.ours()) != int(before)+1 {
			return fmt.Errorf("%d tokens, %d images, %d VMs", len(l.tokens()), len(l.cluster.Volumes()), len(l.ours()))
		}
		for _, vm := range l.ours() {
			if !vm.Running {
				return fmt.Errorf("VM %d does not run", vm.ID)
			}
		}
		return nil
	})
	at := snare{method: http.MethodDelete, suffix: ".iso", after: true}
	caught := l.trap.lay(at)
	s.Delete(lost)
	for _, c := range s.MustClaims("lab") {
		if c.Status.State != v1alpha1.ClaimReady {
			require.NoError(s.T, s.Plane.Objects.Delete(s.Ctx, &c))
		}
	}
	l.killedAt(replica, at, caught)
	s.Await(soon, "the machine that never joined to be gone with all it had", func() error {
		if n := len(l.ours()); n != int(before) {
			return fmt.Errorf("%d VMs", n)
		}
		return l.clean()
	})
	l.mute(false)
	s.AwaitClaims(soon, "lab", int(before), v1alpha1.ClaimReady)
	s.WholeAndPaired()
}
