package capacity

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// chooser picks one of n; a random source and the bytes of a fuzz test both are choosers.
type chooser interface{ IntN(n int) int }

// history drives a Live and a model with the same events.
type history struct {
	t       testing.TB
	by      chooser
	live    *Live
	model   *model
	now     time.Time
	number  uint64
	version int
	nodes   []string
	log     []string
}

func newHistory(t testing.TB, by chooser) *history {
	h := &history{t: t, by: by, live: makeLive(), model: newModel(), now: object.Start, version: 1000}
	for i := range 5 {
		h.nodes = append(h.nodes, fmt.Sprintf("n%d", i))
	}
	return h
}

func pick[T any](h *history, of ...T) T { return of[h.by.IntN(len(of))] }

func (h *history) chance(percent int) bool { return h.by.IntN(100) < percent }

// step does one thing to both, and checks Live against the model.
func (h *history) step() {
	h.now = h.now.Add(time.Duration(h.by.IntN(20_000)) * time.Millisecond)
	pick(h, h.setNode, h.setNode, h.setNode, h.forgetNode, h.setPod, h.setPod, h.setPod, h.setPod, h.forgetPod, h.setClaim, h.setClaim,
		h.forgetClaim, h.setDaemonSet, h.forgetDaemonSet, h.place, h.place, h.place, h.place, h.closeNode, h.reopen, h.expire,
		h.classes, h.nudge, h.expect)()
	h.check()
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) setNode() {
	name := pick(h, h.nodes...)
	n := object.Node(name, "cpu", pick(h, "2", "4", "0"), "memory", pick(h, "4Gi", "8Gi"), "pods", pick(h, "3", "10"),
		"example.com/gpu", pick(h, "0", "0", "2"))
	n.Labels["zone"] = pick(h, "a", "b")
	n.Spec.ProviderID = pick(h, "", "", "sim://1", "sim://2")
	n.Status.NodeInfo.SystemUUID = pick(h, "", "", "UUID-1", "uuid-2")
	for _, key := range []string{"muster.sh/starting", "muster.sh/releasing", "node.kubernetes.io/not-ready", "startup", "team"} {
		if h.chance(7) {
			n = object.Tainted(n, key, pick(h, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule))
		}
	}
	n.Spec.Unschedulable = h.chance(5)
	h.note("set node %s %v %q %q", name, n.Spec, n.Status.NodeInfo.SystemUUID, n.Status.Allocatable.Cpu())
	h.live.SetNode(n, h.now)
	h.model.nodes[name] = n
}

func (h *history) forgetNode() {
	name := pick(h, h.nodes...)
	h.note("forget node %s", name)
	h.live.ForgetNode(name)
	h.model.forgetNode(name)
}

func (h *history) somePod() *corev1.Pod {
	return object.Pod(fmt.Sprintf("p%d", h.by.IntN(14)), "cpu", pick(h, "0", "500m", "1", "2"), "memory", pick(h, "0", "1Gi", "3Gi"),
		"example.com/gpu", pick(h, "0", "0", "0", "1"))
}

func (h *history) setPod() {
	p := h.somePod()
	if old := h.model.pods[p.UID]; old != nil && h.chance(70) {
		p = old.DeepCopy() // most often the spec stays
	} else {
		h.version++
		p.Generation = int64(h.version)
		p.Spec.SchedulerName = pick(h, "muster", "muster", "default-scheduler", "other")
		if h.chance(30) {
			p.Spec.Priority = new(int32(h.by.IntN(3) * 100))
		}
		if h.chance(40) {
			p = pick(h, object.Owned(p, "ReplicaSet", "rs"), object.Owned(p, "DaemonSet", "d0"), object.Owned(p, "DaemonSet", "d1"), object.Owned(p, "Job", "j"))
		}
		if h.chance(30) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		if h.chance(10) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
		}
		if h.chance(10) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		}
	}
	h.version++
	p.ResourceVersion = fmt.Sprint(h.version - 3*h.by.IntN(2)) // now and then an older one
	pick(h,
		func() { p.Spec.NodeName = pick(h, h.nodes...) },
		func() { p.Spec.NodeName = pick(h, h.nodes...) },
		func() { p.Status.NominatedNodeName = pick(h, append(h.nodes, "", "")...) },
		func() { p = object.Unscheduled(p, pick(h, "Unschedulable", "Unschedulable", "SchedulerError")) },
		func() { p.Status.Phase = pick(h, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed) },
		func() { p.DeletionTimestamp = object.Time(h.now) },
		func() { p.Spec.SchedulingGates = nil; p.Generation++ },
		func() {
			p = pick(h, object.Owned(p, "ReplicaSet", "rs"), object.Owned(p, "Job", "j"), object.Owned(p, "DaemonSet", "d0"))
		},
		func() {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Resources: &corev1.ResourceRequirements{
				Requests: object.Amounts("cpu", pick(h, "1", "3"))}}}
		},
		func() {})()
	h.note("set pod %s v%s gen %d: %s bound %q nominated %q phase %q deleted %v gates %v owner %v %v", p.Name, p.ResourceVersion, p.Generation,
		p.Spec.SchedulerName, p.Spec.NodeName, p.Status.NominatedNodeName, p.Status.Phase, p.DeletionTimestamp != nil,
		p.Spec.SchedulingGates, p.OwnerReferences, p.Status.Conditions)
	h.live.SetPod(p, h.now)
	h.model.setPod(p)
}

func (h *history) forgetPod() {
	uid := types.UID(fmt.Sprintf("p%d", h.by.IntN(14)))
	h.note("forget pod %s", uid)
	h.live.ForgetPod(uid)
	h.model.forgetPod(uid)
}

func (h *history) setClaim() {
	name := fmt.Sprintf("pool-%03d", h.by.IntN(3))
	c := object.Claim(name, pick(h, append(h.nodes, "")...))
	for range h.by.IntN(4) {
		uid := fmt.Sprintf("p%d", h.by.IntN(14))
		c.Spec.Reserved = append(c.Spec.Reserved, v1alpha1.PodReference{Namespace: "default", Name: uid, UID: types.UID(uid)})
	}
	c.UID = h.claimUID(name)
	if h.model.gone[c.UID] {
		h.note("set claim %s, which is gone", c.UID)
		h.live.SetClaim(c)
		return
	}
	if old := h.model.claims[name]; old != nil && c.UID != old.UID {
		delete(h.model.expired, old.UID)
	}
	c.CreationTimestamp = metav1.NewTime(object.At(h.version))
	h.version++
	c.ResourceVersion = fmt.Sprint(h.version)
	c.Status.State = pick(h, v1alpha1.ClaimReady, v1alpha1.ClaimReady, v1alpha1.ClaimReady, v1alpha1.ClaimJoining,
		v1alpha1.ClaimStarting, v1alpha1.ClaimDraining, v1alpha1.ClaimFailed)
	c.Status.ProviderID = pick(h, "", "sim://1", "sim://2")
	c.Status.SystemUUID = pick(h, "", "uuid-1", "UUID-2")
	c.Status.ReadyAt = nil
	if h.chance(60) {
		c.Status.ReadyAt = object.Micro(h.now)
	}
	c.Spec.StartupTaints = []corev1.Taint{{Key: "startup", Effect: corev1.TaintEffectNoSchedule}}
	h.note("set claim %s %s of node %q %q %q %s reserved %v", name, c.UID, c.Status.NodeName, c.Status.ProviderID, c.Status.SystemUUID, c.Status.State, c.Spec.Reserved)
	h.live.SetClaim(c)
	h.model.claims[name] = c
}

// claimUID is that of a claim that may be there, and sometimes that of one that is gone.
func (h *history) claimUID(name string) types.UID {
	gone := 0
	for h.model.gone[types.UID(fmt.Sprintf("%s-%d", name, gone))] {
		gone++
	}
	return types.UID(fmt.Sprintf("%s-%d", name, max(0, gone-1)+h.by.IntN(3)))
}

// expect sends some pods to nodes, as a plan would.
func (h *history) expect() {
	rooms := map[types.UID]string{}
	for range h.by.IntN(6) {
		rooms[types.UID(fmt.Sprintf("p%d", h.by.IntN(14)))] = pick(h, h.nodes...)
	}
	h.note("expect %v", rooms)
	h.live.Expect(sent(rooms))
	h.model.expect(rooms)
}

func (h *history) forgetClaim() {
	name := fmt.Sprintf("pool-%03d", h.by.IntN(3))
	uid := h.claimUID(name)
	h.note("forget claim %s", uid)
	h.live.ForgetClaim(name, uid)
	h.model.gone[uid] = true
	if c := h.model.claims[name]; c != nil && c.UID == uid {
		delete(h.model.claims, name)
		delete(h.model.expired, uid)
	}
}

func (h *history) setDaemonSet() {
	ds := object.DaemonSet(pick(h, "d0", "d1"), "cpu", pick(h, "100m", "1"))
	if h.chance(30) {
		ds.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "a"}
	}
	if h.chance(30) {
		ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	h.note("set daemonset %s %v", ds.Name, ds.Spec.Template.Spec)
	h.live.SetDaemonSet(ds)
	h.model.daemons[ds.UID] = ds
}

func (h *history) forgetDaemonSet() {
	uid := pick(h, types.UID("d0"), types.UID("d1"))
	h.note("forget daemonset %s", uid)
	h.live.ForgetDaemonSet(uid)
	delete(h.model.daemons, uid)
}

func (h *history) classes() {
	name := "gpu"
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if h.chance(50) {
		c.Spec.ExtendedResourceName = new("example.com/gpu")
		h.live.SetDeviceClass(c)
		h.model.classes = Classes{"example.com/gpu": {}, "deviceclass.resource.kubernetes.io/gpu": {}}
	} else {
		h.live.ForgetDeviceClass(name)
		h.model.classes = Classes{}
	}
	h.note("classes %v", h.model.classes)
}

func (h *history) closeNode() {
	name := pick(h, h.nodes...)
	may := h.model.mayClose(name)
	h.note("close %s: %v", name, may)
	require.Equal(h.t, may, h.live.Close(name, nil), "close %s", name)
	if may {
		h.model.closed[name] = true
	}
}

func (h *history) reopen() {
	name := pick(h, h.nodes...)
	h.note("reopen %s", name)
	h.live.Reopen(name)
	delete(h.model.closed, name)
}

func (h *history) expire() {
	h.note("expire")
	h.live.Expire(h.now)
	h.model.expire(h.now)
}

func (h *history) nudge() {
	if len(h.model.short) > 0 {
		h.live.Nudged(slices.Sorted(maps.Keys(h.model.short))[0], h.now)
	}
}

// place calls the filter for a known pod or a new one, with some of the nodes; now and then late or with nobody waiting.
func (h *history) place() {
	p := h.somePod()
	if known := h.model.pods[p.UID]; known != nil && h.chance(80) {
		p = known.DeepCopy()
	} else {
		p.Generation = int64(h.version + 10_000)
	}
	var offered []string
	for _, name := range h.nodes {
		if h.chance(75) {
			offered = append(offered, name)
		}
	}
	h.number++
	call := Call{Number: h.number, Pod: h.live.Compile(p), Nodes: offered, Now: h.now}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if h.chance(10) {
		cancel()
	}
	settled := h.model.gone[p.UID]
	if known := h.model.pods[p.UID]; known != nil {
		settled = known.Spec.NodeName != "" || finished(known)
	}
	got, err := h.live.Place(ctx, call)
	h.note("place %s on %v: %v %v", p.Name, offered, got, err)
	switch {
	case settled:
		require.ErrorIs(h.t, err, ErrSettled)
		return
	case ctx.Err() != nil:
		require.ErrorIs(h.t, err, context.Canceled)
		return
	}
	require.NoError(h.t, err)
	delete(h.model.holds, p.UID)
	h.judged(p, offered, got)
	if h.chance(10) {
		late := call
		late.Number--
		if _, err := h.live.Place(context.Background(), late); err != nil {
			require.ErrorIs(h.t, err, ErrSuperseded)
		}
	}
}

// judged checks an answer against fresh judgements, and takes it over into the model.
func (h *history) judged(p *corev1.Pod, offered []string, got Placement) {
	if got.Node == "" {
		require.Len(h.t, got.Refused, len(offered))
		for i, name := range offered {
			require.False(h.t, h.model.mayTakeOver(p, name), "%s may take what is kept on %s", p.Name, name)
			require.Equal(h.t, h.model.judge(p, name).Reason, got.Refused[i], "%s on %s", p.Name, name)
		}
		known := h.model.pods[p.UID]
		if (known == nil || pending(known)) && (len(offered) != 1 || len(h.model.nodes) <= 1) {
			h.model.short[p.UID] = NewAsk(p).Signature
		}
		return
	}
	if !h.model.judge(p, got.Node).Fits {
		require.True(h.t, h.model.mayTakeOver(p, got.Node), "%s was sent to %s: %v", p.Name, got.Node, h.model.judge(p, got.Node))
		for _, name := range offered {
			require.False(h.t, h.model.judge(p, name).Fits, "%s took reserved room on %s and fits on %s", p.Name, got.Node, name)
		}
	}
	if keeper := h.model.keeper(p.UID); keeper != nil {
		for _, name := range offered {
			n := h.model.nodes[name]
			if n != nil && h.model.claimOf(n) == keeper && h.model.judge(p, name).Fits {
				require.Equal(h.t, keeper, h.model.claimOf(h.model.nodes[got.Node]), "it was not sent to its own node")
			}
		}
	}
	h.model.holds[p.UID] = modelHold{p, got.Node, false}
	delete(h.model.short, p.UID)
	h.notOverbooked(p, got.Node)
}

// notOverbooked looks at the kinds that the pod placed just now asks for.
func (h *history) notOverbooked(p *corev1.Pod, node string) {
	n := h.model.nodes[node]
	offered := amount.Of(n.Status.Allocatable)
	left := offered.Minus(h.model.used(node)).Minus(h.model.held(node)).Minus(h.model.daemonRoom(n))
	want := NewAsk(p).Requests
	require.True(h.t, left.Pods >= 0 && (want.MilliCPU == 0 || left.MilliCPU >= 0) && (want.Memory == 0 || left.Memory >= 0),
		"%s overbooked by %s: %v", node, p.Name, left)
	for name := range want.Scalar {
		inTree := h.model.classes.Has(name) && offered.Scalar[name] == 0
		require.True(h.t, inTree || left.Scalar[name] >= 0, "%s overbooked by %s: %v", node, p.Name, left)
	}
}

// random is the chooser of the property tests.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
