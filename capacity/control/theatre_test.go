package control_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
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
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/policy"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// theatre is an API server for pods, a scheduler that tries a pod again whenever it changes, and Muster's planner,
// teller and preemptor over them.
type theatre struct {
	*notebook
	t         *testing.T
	live      *capacity.Live
	planner   *control.Planner
	teller    *control.Teller
	preemptor *control.Preemptor
	loops     *control.Loops
	outcomes  map[control.PreemptionOutcome]int
	stuck     string // its name is never gone
	hangs     string // its eviction is never answered
	swift     bool   // a pod in deletion is gone, and the watch has said so, before an answer about it arrives
	unsettled bool

	stage     sync.Mutex
	pods      map[string]*corev1.Pod
	nodes     map[string]*corev1.Node
	silent    bool // the scheduler offers nothing
	protected sets.Set[string]
	said      []string
	words     map[string]string
	number    uint64
	changes   int
}

var poolOf = resources("4", "8Gi")

func newTheatre(t *testing.T) *theatre {
	th := &theatre{
		notebook: newNotebook(), t: t, pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{},
		protected: sets.New[string](), words: map[string]string{}, outcomes: map[control.PreemptionOutcome]int{},
	}
	th.restart()
	return th
}

// restart forgets everything but what the API server has.
func (th *theatre) restart() {
	th.stage.Lock()
	defer th.stage.Unlock()
	log := slog.New(slog.DiscardHandler)
	th.live = capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	th.teller = &control.Teller{Kube: th, Log: log, Burst: 10, Every: 100 * time.Millisecond}
	permit := &control.Gate{Live: th.live, Kube: th, Log: log, Now: time.Now}
	th.preemptor = &control.Preemptor{
		Live: th.live, Kube: th, Teller: th.teller, Log: log, Most: 20, Gate: permit,
		Settled: func() error {
			th.stage.Lock()
			defer th.stage.Unlock()
			if th.unsettled {
				return errors.New("settling")
			}
			return nil
		},
		Observe: func(o control.PreemptionOutcome, _ int) {
			th.stage.Lock()
			defer th.stage.Unlock()
			th.outcomes[o]++
		},
	}
	th.planner = &control.Planner{
		Live: th.live, Kube: th, Teller: th.teller, Log: log, Batch: policy.DefaultBatch, Parallel: 1, Preemptor: th.preemptor,
	}
	th.loops = &control.Loops{
		Live: th.live, Log: log, Teller: th.teller, Planner: th.planner, Preemptor: th.preemptor,
		Claims: &control.Claims{Live: th.live, Kube: th, Log: log}, Reaper: &control.Reaper{Live: th.live, Kube: th, Log: log, Decide: reaper.Decide},
		Holds:     &control.Holds{Live: th.live, Kube: th, Log: log, Age: 30 * time.Second},
		Providers: &control.Providers{Live: th.live, Kube: th, Log: log, Backends: nobody{}, Keeper: &control.Keeper{Live: th.live, Kube: th, Log: log, Nodes: nobody{}}},
	}
	th.pool(0)
	th.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}})
	for _, name := range slices.Sorted(maps.Keys(th.nodes)) {
		th.live.SetNode(th.nodes[name], time.Now())
	}
	for _, name := range slices.Sorted(maps.Keys(th.pods)) {
		th.live.SetPod(th.pods[name], time.Now())
	}
}

// nobody is the backends of a cluster without any.
type nobody struct{}

func (nobody) Backend(string) (provider.Provider, error) { return nil, provider.ErrUnknown }

func (nobody) Candidates(string, string, string) []*corev1.Node { return nil }

func (th *theatre) UpdateProviderStatus(context.Context, *v1alpha1.Provider) error { return nil }

// pool says how many machines may be bought.
func (th *theatre) pool(most int32) {
	th.live.SetPool(&v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: most},
			Template: v1alpha1.NodeTemplate{Shapes: []v1alpha1.Shape{{Name: "s", Resources: poolOf}}},
		},
	})
}

// start runs the loops and returns what ends them, as a SIGTERM does.
func (th *theatre) start() func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { th.loops.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

func (th *theatre) node(name, cpu string) {
	offers := resources(cpu, "64Gi")
	offers[corev1.ResourcePods] = resource.MustParse("110")
	th.nodes[name] = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Allocatable: offers},
	}
	th.live.SetNode(th.nodes[name], time.Now())
}

func pendingPod(name string, priority int32, cpu string) *corev1.Pod {
	p := pod(name, cpu)
	p.Spec.Priority = &priority
	return p
}

func runningPod(name string, priority int32, cpu, node string) *corev1.Pod {
	p := pendingPod(name, priority, cpu)
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	return p
}

func (th *theatre) run(pods ...*corev1.Pod) {
	for _, p := range pods {
		th.store(p)
	}
}

// store writes a pod and delivers the watch event.
func (th *theatre) store(p *corev1.Pod) {
	th.stage.Lock()
	defer th.stage.Unlock()
	th.put(p)
}

func (th *theatre) put(p *corev1.Pod) {
	th.changes++
	p.ResourceVersion = resource.NewQuantity(int64(th.changes), resource.DecimalSI).String()
	th.pods[p.Name] = p
	th.live.SetPod(p, time.Now())
}

// change is a write to a pod that is there. A pending pod that changes is tried again at once.
func (th *theatre) change(ref v1alpha1.PodReference, edit func(*corev1.Pod)) error {
	th.stage.Lock()
	defer th.stage.Unlock()
	p := th.pods[ref.Name]
	switch {
	case p == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, ref.Name)
	case p.UID != ref.UID:
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, ref.Name, errors.New("another UID"))
	}
	p = p.DeepCopy()
	edit(p)
	th.put(p)
	if p.Spec.NodeName == "" {
		go th.schedule(p.Name)
	}
	return nil
}

// asks adds pods and has the scheduler try them.
func (th *theatre) asks(pods ...*corev1.Pod) {
	for _, p := range pods {
		th.store(p)
		th.schedule(p.Name)
	}
}

// askAgain has the scheduler try every pending pod, as after a change of the cluster.
func (th *theatre) askAgain() {
	th.stage.Lock()
	names := slices.Sorted(maps.Keys(th.pods))
	th.stage.Unlock()
	for _, name := range names {
		th.schedule(name)
	}
}

// ended is how many preemptions had an outcome.
func (th *theatre) ended(o control.PreemptionOutcome) int {
	synctest.Wait()
	th.stage.Lock()
	defer th.stage.Unlock()
	return th.outcomes[o]
}

// schedule is one attempt of kube-scheduler.
func (th *theatre) schedule(name string) {
	th.stage.Lock()
	defer th.stage.Unlock()
	p := th.pods[name]
	if p == nil || p.Spec.NodeName != "" {
		return
	}
	node := th.ask(p)
	p = p.DeepCopy()
	if node != "" {
		p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
		th.said = append(th.said, "bind "+name+" "+node)
		th.put(p)
		return
	}
	p.Status.Conditions = append(slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }),
		corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
	th.put(p)
}

// ask is the filter call, if the scheduler's own filters leave a node.
func (th *theatre) ask(p *corev1.Pod) string {
	if th.silent {
		return ""
	}
	th.number++
	placed, err := th.live.Place(context.Background(), capacity.Call{
		Number: th.number, Pod: capacity.PodOf(p), Nodes: slices.Sorted(maps.Keys(th.nodes)), Now: time.Now(),
	})
	if err != nil {
		return ""
	}
	return placed.Node
}

func (th *theatre) protect(names ...string) {
	th.stage.Lock()
	defer th.stage.Unlock()
	th.protected = sets.New(names...)
}

func (th *theatre) settle() {
	th.stage.Lock()
	defer th.stage.Unlock()
	th.unsettled = false
}

// behindItsBack changes a pod in the API server; the watch is late.
func (th *theatre) behindItsBack(name string, edit func(*corev1.Pod)) {
	p := th.pods[name].DeepCopy()
	edit(p)
	th.changes++
	p.ResourceVersion = resource.NewQuantity(int64(th.changes), resource.DecimalSI).String()
	th.pods[name] = p
}

func (th *theatre) Pod(_ context.Context, ref v1alpha1.PodReference) (*corev1.Pod, error) {
	th.stage.Lock()
	defer th.stage.Unlock()
	if p := th.pods[ref.Name]; p != nil {
		if th.swift && p.DeletionTimestamp != nil {
			delete(th.pods, ref.Name)
			th.live.ForgetPod(p.UID)
		}
		return p.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, ref.Name)
}

// Evict starts a pod's grace period, unless a budget protects it.
func (th *theatre) Evict(ctx context.Context, ref v1alpha1.PodReference, p gate.Proof) error {
	if err := p.CoversPod(ref.UID, time.Now(), gate.Preempt); err != nil {
		return err
	}
	if ref.Name == th.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	th.stage.Lock()
	if th.protected.Has(ref.Name) {
		defer th.stage.Unlock()
		th.said = append(th.said, "refuse "+ref.Name)
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	}
	th.said = append(th.said, "evict "+ref.Name)
	th.stage.Unlock()
	err := th.change(ref, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(grace))) })
	if err == nil && ref.Name != th.stuck {
		time.AfterFunc(grace, func() { th.remove(ref.UID, ref.Name) })
	}
	return err
}

// remove ends a pod.
func (th *theatre) remove(uid types.UID, name string) {
	th.stage.Lock()
	delete(th.pods, name)
	th.live.ForgetPod(uid)
	th.stage.Unlock()
}

func (th *theatre) Nominate(_ context.Context, ref v1alpha1.PodReference, node string) error {
	th.stage.Lock()
	th.said = append(th.said, "nominate "+ref.Name+" "+node)
	th.stage.Unlock()
	return th.change(ref, func(p *corev1.Pod) { p.Status.NominatedNodeName = node })
}

func (th *theatre) SetPodCondition(ctx context.Context, ref v1alpha1.PodReference, c corev1.PodCondition) error {
	th.stage.Lock()
	th.words[ref.Name] = c.Reason + ": " + c.Message
	th.stage.Unlock()
	return th.change(ref, func(p *corev1.Pod) {
		p.Status.Conditions = append(slices.DeleteFunc(p.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type }), c)
	})
}

func (th *theatre) log() []string {
	synctest.Wait()
	th.stage.Lock()
	defer th.stage.Unlock()
	return slices.Clone(th.said)
}

func (th *theatre) count(line string) int {
	n := 0
	for _, said := range th.log() {
		if said == line {
			n++
		}
	}
	return n
}

func (th *theatre) told(name string) string {
	synctest.Wait()
	th.stage.Lock()
	defer th.stage.Unlock()
	require.NotEmpty(th.t, th.words[name], "nothing was told to %s", name)
	return th.words[name]
}

func (th *theatre) events() []string {
	synctest.Wait()
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.Clone(th.notebook.events)
}
