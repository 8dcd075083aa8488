package rehearsal

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/planner"
	"github.com/muster-sh/muster/test/e2e/world"
)

const scheduler = "muster"

// cluster is a world that lives in memory.
type cluster struct {
	t    *testing.T
	live *capacity.Live
	now  time.Time
	// pending are the pods that wait for a node, by UID in the order of the world.
	pending []types.UID
	claims  []*v1alpha1.NodeClaim
	call    uint64
	// staggered machines come one after the other.
	staggered bool
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// settle makes a world: its nodes with their DaemonSets' pods, what runs there, and the pods that wait.
func settle(t *testing.T, w *world.World) *cluster {
	c := &cluster{t: t, live: capacity.NewLive(capacity.Schedulers{Place: sets.New(scheduler)}), now: start}
	read := admit(t, w)
	c.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: world.Provider}})
	for _, p := range w.Pools {
		c.live.SetPool(p)
	}
	for _, o := range read.Storage {
		c.live.SetStorage(o)
	}
	for _, n := range read.Namespaces {
		c.live.SetNamespace(n)
	}
	for _, d := range read.DaemonSets {
		c.live.SetDaemonSet(d)
	}
	for _, n := range read.Nodes {
		c.live.SetNode(n, c.now)
	}
	c.daemonsCome()
	for _, p := range read.Pods {
		if value, named := world.PriorityClasses()[p.Spec.PriorityClassName]; named {
			p.Spec.Priority = &value
		}
		c.live.SetPod(p, c.now)
		if c.live.Want(p.UID, c.now) {
			c.pending = append(c.pending, p.UID)
		}
	}
	return c
}

// admit writes the world into a file and reads it, which adds what the API server would.
func admit(t *testing.T, w *world.World) *manifest.Cluster {
	var all []client.Object
	for name, labels := range world.Teams() {
		all = append(all, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	all = append(all, w.Storage...)
	for _, o := range w.Nodes {
		all = append(all, o)
	}
	for _, o := range w.Daemons {
		all = append(all, o)
	}
	for _, o := range w.Bound {
		all = append(all, o)
	}
	for _, o := range w.Pending {
		all = append(all, o)
	}
	file := filepath.Join(t.TempDir(), "cluster.json")
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": all})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	read, err := manifest.ReadCluster(file)
	require.NoError(t, err)
	return read
}

// daemonsCome puts the pods of DaemonSets on all nodes that lack them.
func (c *cluster) daemonsCome() {
	v := c.live.View()
	for _, n := range v.Nodes {
		for _, d := range v.Daemons {
			uid := types.UID(d.Name + "/" + n.Name)
			if c.live.Pod(uid) == nil && d.Matches(n) {
				c.live.SetPod(daemonPod(d, uid, n.Name), c.now)
			}
		}
	}
}

func daemonPod(d *capacity.Daemon, uid types.UID, node string) *corev1.Pod {
	controller := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: string(uid), UID: uid, Labels: maps.Collect(d.Labels.All()),
			OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: d.Name, UID: d.UID, Controller: &controller}}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: d.Ask.Requests.List()}}}},
	}
}

// plan plans, and carries the plan out as far as the API server is concerned.
func (c *cluster) plan() capacity.Plan {
	v := c.live.View()
	p := planner.Plan(v, c.now)
	c.live.MarkPlanned(v.Shortfalls, p)
	for _, x := range p.Creates {
		claim := x.Claim.DeepCopy()
		claim.UID, claim.CreationTimestamp = types.UID("uid-"+claim.Name), metav1.NewTime(c.now)
		c.claims = append(c.claims, claim)
		c.live.SetClaim(claim)
	}
	for _, r := range p.Reserve {
		claim := c.live.Claim(r.Claim.Name).DeepCopy()
		for _, pod := range r.Pods {
			claim.Spec.Reserved = append(claim.Spec.Reserved, pod.Ref())
		}
		c.live.SetClaim(claim)
	}
	c.live.Expect(p)
	return p
}

// come has all machines come up with what was promised, at once or one after the other.
func (c *cluster) come(r *rand.Rand) {
	order := slices.Clone(c.claims)
	if c.staggered {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, claim := range order {
		c.ready(c.live.Claim(claim.Name).DeepCopy())
		if c.staggered {
			c.scheduleAll(r)
		}
	}
	c.daemonsCome()
}

func (c *cluster) ready(claim *v1alpha1.NodeClaim) {
	ready := metav1.NewMicroTime(c.now)
	claim.Status.State, claim.Status.NodeName, claim.Status.ReadyAt = v1alpha1.ClaimReady, claim.Name, &ready
	c.live.SetClaim(claim)
	promised := capacity.NodeOfClaim(claim, nil)
	node := promised.Object.DeepCopy()
	node.Status.Allocatable = promised.Allocatable.List()
	c.live.SetNode(node, c.now)
	if c.staggered {
		c.daemonsCome()
	}
}
