package control_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/policy"
	"github.com/muster-sh/muster/provider/gate"
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// notebook is a Kube that keeps claims like an API server and writes down what is said to pods. Verbs that the planner
// and the teller do not use are left to the nil interface: calling one is a failure.
type notebook struct {
	control.Kube
	mu         sync.Mutex
	claims     map[string]*v1alpha1.NodeClaim
	pools      map[string]*v1alpha1.NodePool
	clock      func() time.Time // of creations; nil leaves them without a time
	version    int
	conditions []string
	events     []string
	fail       error // the next creation fails like this

	freeze      map[string]string // the data of the ConfigMap
	unread      error             // why it cannot be read
	freezeReads int
}

func newNotebook() *notebook {
	return &notebook{claims: map[string]*v1alpha1.NodeClaim{}, pools: map[string]*v1alpha1.NodePool{}}
}

func (n *notebook) CreateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.fail; err != nil {
		n.fail = nil
		return nil, err
	}
	if _, taken := n.claims[c.Name]; taken {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "nodeclaims"}, c.Name)
	}
	c = c.DeepCopy()
	n.version++
	c.UID, c.ResourceVersion = types.UID(fmt.Sprint("uid-", n.version)), fmt.Sprint(n.version)
	if n.clock != nil {
		c.CreationTimestamp = metav1.NewTime(n.clock().Truncate(time.Second))
	}
	n.claims[c.Name] = c
	return c, nil
}

// Claims are all, by name.
func (n *notebook) Claims(context.Context) ([]*v1alpha1.NodeClaim, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.claims), func(a, b *v1alpha1.NodeClaim) int { return strings.Compare(a.Name, b.Name) }), nil
}

func (n *notebook) UpdateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	return n.store(c.DeepCopy()), nil
}

func (n *notebook) UpdateClaimStatus(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	return n.store(c.DeepCopy()), nil
}

func (n *notebook) Nominate(_ context.Context, ref v1alpha1.PodReference, node string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conditions = append(n.conditions, ref.Name+" nominated "+node)
	return nil
}

// store keeps a claim as a new version.
func (n *notebook) store(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.version++
	c.ResourceVersion = fmt.Sprint(n.version)
	n.claims[c.Name] = c
	return c
}

func (n *notebook) Freeze(context.Context) (gate.Freeze, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.freezeReads++
	if n.unread != nil {
		return gate.FreezeUnknown(n.unread), n.unread
	}
	return gate.ParseFreeze(n.freeze), nil
}

func (n *notebook) UpdatePoolStatus(_ context.Context, p *v1alpha1.NodePool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pools[p.Name] = p.DeepCopy()
	return nil
}

func (n *notebook) SetPoolFinalizers(_ context.Context, p *v1alpha1.NodePool, finalizers []string) (*v1alpha1.NodePool, error) {
	p = p.DeepCopy()
	p.Finalizers = finalizers
	return p, nil
}

func (n *notebook) SetProviderFinalizers(_ context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error) {
	p = p.DeepCopy()
	p.Finalizers = finalizers
	return p, nil
}

func (n *notebook) SetPodCondition(_ context.Context, ref v1alpha1.PodReference, c corev1.PodCondition) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conditions = append(n.conditions, fmt.Sprintf("%s %s %s", ref.Name, c.Status, c.Reason))
	return nil
}

func (n *notebook) Event(about control.Subject, _ bool, reason, _ string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, about.Kind+" "+about.Name+" "+reason)
}

// desk is a planner over an empty cluster with one pool.
type desk struct {
	live    *capacity.Live
	kube    *notebook
	teller  *control.Teller
	planner *control.Planner
	calls   uint64
}

func newDesk() *desk {
	d := &desk{live: capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")}), kube: newNotebook()}
	log := slog.New(slog.DiscardHandler)
	d.teller = &control.Teller{Kube: d.kube, Log: log, Burst: 10, Every: time.Second}
	d.planner = &control.Planner{Live: d.live, Kube: d.kube, Teller: d.teller, Log: log, Batch: policy.DefaultBatch, Parallel: 1}
	d.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}})
	d.live.SetPool(&v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 5},
			Template: v1alpha1.NodeTemplate{Shapes: []v1alpha1.Shape{{Name: "s", Resources: resources("4", "8Gi")}}},
		},
	})
	return d
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{SchedulerName: "muster", Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: resources(cpu, "1Gi")},
		}}},
	}
}

// node puts a node into the cluster.
func (d *desk) node() {
	offers := resources("4", "8Gi")
	offers[corev1.ResourcePods] = resource.MustParse("10")
	d.live.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Allocatable: offers},
	}, start)
}

// unschedulable is a pod that the scheduler's own filters refuse, so that the extender is never asked.
func (d *desk) unschedulable(name, cpu string) {
	p := pod(name, cpu)
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	d.live.SetPod(p, start)
}

// call is a filter call in which no node fits.
func (d *desk) call(t *testing.T, name, cpu string, now time.Time, nodes ...string) capacity.Placement {
	t.Helper()
	d.live.SetPod(pod(name, cpu), now)
	d.calls++
	p, err := d.live.Place(context.Background(), capacity.Call{Number: d.calls, Pod: capacity.PodOf(pod(name, cpu)), Nodes: nodes, Now: now})
	require.NoError(t, err)
	return p
}

func (d *desk) tick(now time.Time) time.Duration { return d.planner.Tick(context.Background(), now) }

func TestTheBatchWindowClosesWhenNoNewPodCameForItsIdleTime(t *testing.T) {
	d := newDesk()
	d.call(t, "a", "3", start)
	require.LessOrEqual(t, d.tick(start), 500*time.Millisecond)
	d.call(t, "b", "3", start.Add(400*time.Millisecond))
	d.tick(start.Add(899 * time.Millisecond))
	require.Empty(t, d.kube.claims, "the second pod kept the window open")
	d.tick(start.Add(900 * time.Millisecond))
	require.Len(t, d.kube.claims, 2, "both were bought for at once")
}

func TestTheBatchWindowClosesAtItsLatestTime(t *testing.T) {
	d := newDesk()
	for i := range 13 {
		now := start.Add(time.Duration(i) * 400 * time.Millisecond)
		d.call(t, fmt.Sprint("pod", i), "1", now)
		d.tick(now)
	}
	require.Empty(t, d.kube.claims)
	d.tick(start.Add(5 * time.Second))
	require.NotEmpty(t, d.kube.claims, "pods kept coming, and the first had waited for five seconds")
}

func TestAPodIsBoughtForOnce(t *testing.T) {
	d := newDesk()
	now := start
	for range 40 {
		d.call(t, "a", "3", now)
		d.tick(now)
		now = now.Add(300 * time.Millisecond)
	}
	require.Len(t, d.kube.claims, 1)
	require.Equal(t, []v1alpha1.PodReference{{Namespace: "default", Name: "a", UID: "a"}}, d.kube.claims["p-000"].Spec.Reserved)
}

func TestASlotThatIsTakenIsPlannedAround(t *testing.T) {
	d := newDesk()
	d.call(t, "a", "3", start)
	d.kube.fail = apierrors.NewAlreadyExists(schema.GroupResource{Resource: "nodeclaims"}, "p-000")
	now := start.Add(500 * time.Millisecond)
	d.tick(now)
	require.Empty(t, d.kube.claims)
	// The watch delivers what took the slot: a machine that is too small for the pod.
	d.live.SetClaim(&v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "p-000", UID: "other", ResourceVersion: "1"},
		Spec:       v1alpha1.NodeClaimSpec{Pool: "p", Provider: "sim", Shape: "tiny", Resources: resources("1", "1Gi")},
	})
	d.tick(now.Add(time.Second))
	require.Contains(t, d.kube.claims, "p-001")
}

func TestAFailedWriteIsTriedAgain(t *testing.T) {
	d := newDesk()
	d.call(t, "a", "3", start)
	d.kube.fail = errors.New("the API server is down")
	now := start.Add(500 * time.Millisecond)
	d.tick(now)
	require.Empty(t, d.kube.claims)
	d.tick(now.Add(time.Second))
	require.Len(t, d.kube.claims, 1)
}

func TestThePodIsToldOnceWhatWasOrderedForIt(t *testing.T) {
	d := newDesk()
	d.call(t, "a", "3", start)
	now := start
	for range 30 {
		d.tick(now)
		d.teller.Tick(context.Background(), now)
		now = now.Add(300 * time.Millisecond)
	}
	require.Equal(t, []string{"a False MachineOrdered"}, d.kube.conditions)
	require.Equal(t, []string{"Pod a MachineOrdered"}, d.kube.events)
}

func TestAPodNobodyCanTakeIsToldWhyAndBuysNothing(t *testing.T) {
	d := newDesk()
	d.call(t, "huge", "64", start)
	now := start.Add(500 * time.Millisecond)
	d.tick(now)
	d.teller.Tick(context.Background(), now)
	require.Empty(t, d.kube.claims)
	require.Equal(t, []string{"huge False " + string(capacity.CodeTooLarge)}, d.kube.conditions)
}

func TestRoomThatAppearsOnlyInMustersHeadWakesThePod(t *testing.T) {
	d := newDesk()
	d.node()
	require.Equal(t, "n1", d.call(t, "first", "3", start, "n1").Node)
	require.Empty(t, d.call(t, "second", "3", start, "n1").Node)

	// The first pod is gone: its hold ends, and no scheduler knows that there was one.
	d.live.ForgetPod("first")
	now := start.Add(300 * time.Millisecond)
	d.tick(now)
	d.teller.Tick(context.Background(), now)
	require.Equal(t, []string{"second True RoomAvailable"}, d.kube.conditions, "within the batch window, and nothing is bought")
	require.Empty(t, d.kube.claims)

	d.tick(now.Add(999 * time.Millisecond))
	d.teller.Tick(context.Background(), now.Add(999*time.Millisecond))
	require.Len(t, d.kube.conditions, 1, "no two wake-ups within a second")
	d.tick(now.Add(1200 * time.Millisecond))
	d.teller.Tick(context.Background(), now.Add(1200*time.Millisecond))
	require.Len(t, d.kube.conditions, 2, "it is woken again, should the scheduler not have asked")
}

func TestRoomTheSchedulerDoesNotAskAboutIsTakenForRefused(t *testing.T) {
	d := newDesk()
	d.node()
	// The scheduler's own filters refuse n1, so the extender is never asked.
	d.unschedulable("a", "1")
	now := start
	for range 100 {
		d.tick(now)
		d.teller.Tick(context.Background(), now)
		now = now.Add(100 * time.Millisecond)
	}
	require.Empty(t, d.kube.claims, "the scheduler may still be coming to it")
	for range 12 {
		d.tick(now)
		d.teller.Tick(context.Background(), now)
		now = now.Add(100 * time.Millisecond)
	}
	require.Len(t, d.kube.claims, 1, "it was woken in vain for longer than that, so a machine is bought")
	require.Len(t, d.kube.conditions, 12, "eleven wake-ups and the news: %v", d.kube.conditions)
}

func TestNobodyIsWokenWhileTheFilterDoesNotAnswer(t *testing.T) {
	d := newDesk()
	d.planner.Settled = func() error { return errors.New("settling") }
	d.node()
	d.unschedulable("a", "1")
	now := start
	for range 50 {
		d.tick(now)
		d.teller.Tick(context.Background(), now)
		now = now.Add(100 * time.Millisecond)
	}
	require.Empty(t, d.kube.conditions)
	require.Empty(t, d.kube.claims, "a wake-up that was not sent is not an ignored one")
	d.planner.Settled = nil
	now = now.Add(200 * time.Millisecond)
	d.tick(now)
	d.teller.Tick(context.Background(), now)
	require.Equal(t, []string{"a True RoomAvailable"}, d.kube.conditions)
}

func TestABoundPodIsToldSoWhenItsConditionSaysOtherwise(t *testing.T) {
	d := newDesk()
	p := pod("a", "1")
	p.Spec.NodeName = "n1"
	p.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.CapacityCondition, Status: corev1.ConditionFalse, Reason: "MachineOrdered"}}
	d.live.SetPod(p, start)
	d.tick(start)
	d.teller.Tick(context.Background(), start)
	require.Equal(t, []string{"a True Placed"}, d.kube.conditions)
}

func TestTheTellerSendsWakeUpsFirstAndOnlySoMany(t *testing.T) {
	d := newDesk()
	d.teller.Burst = 3
	for i := range 4 {
		d.teller.Say(capacity.PodOf(pod(fmt.Sprint("patient", i), "1")), corev1.ConditionFalse, "NoPool", "x")
	}
	d.teller.Nudge(capacity.PodOf(pod("urgent", "1")), "room")
	require.Equal(t, time.Second, d.teller.Tick(context.Background(), start), "more is waiting")
	require.Equal(t, []string{"urgent True RoomAvailable", "patient0 False NoPool", "patient1 False NoPool"}, d.kube.conditions)
	require.Zero(t, d.teller.Tick(context.Background(), start))
	require.Len(t, d.kube.conditions, 5)
}

// A closing node that a pod has use for opens again. Until it is known whether it does, nothing is bought for that pod.
func TestNothingIsBoughtWhileAReleaseIsTakenBack(t *testing.T) {
	d := newDesk()
	some, ok := true, false
	d.planner.Reopen = func(context.Context, *capacity.View) (bool, bool) { return some, ok }
	d.call(t, "a", "3", start)
	now := start.Add(time.Second)
	for range 5 {
		next := d.tick(now)
		require.Empty(t, d.kube.claims, "the claim was another by then")
		require.Positive(t, next)
		require.LessOrEqual(t, next, 100*time.Millisecond)
		now = now.Add(next)
	}
	some, ok = false, true
	d.tick(now)
	require.Len(t, d.kube.claims, 1, "no node opens for it")
}
