package lifecycle_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// chance decides what goes wrong: each call takes the next two bytes, and where there are none nothing goes wrong. The
// first byte says how kind the world is: in a kind one a claim gets further.
type chance struct {
	bytes []byte
	kind  int
}

func newChance(bytes []byte) chance {
	if len(bytes) == 0 {
		return chance{}
	}
	return chance{bytes: bytes[1:], kind: 1 + int(bytes[0]%8)}
}

// of is true in about one of n cases, in a kind world in fewer.
func (c *chance) of(n int) bool {
	if len(c.bytes) < 2 {
		c.bytes = nil
		return false
	}
	v := int(c.bytes[0])<<8 | int(c.bytes[1])
	c.bytes = c.bytes[2:]
	return v%(n*c.kind) == 1
}

// world is one claim, a backend with one foreign machine, and at most one Node; all of it in memory.
type world struct {
	t       *testing.T
	chance  chance
	now     time.Time
	claim   *v1alpha1.NodeClaim
	made    map[int32]*provider.Machine // by attempt, also those that are gone
	live    map[int32]time.Time         // since when
	late    map[int32]time.Time         // creations still to be carried out
	dying   map[int32]time.Time         // deletions under way
	node    *corev1.Node
	joined  map[int32]bool
	pods    []lifecycle.PodOnNode
	memory  memory
	lastRun lifecycle.Result
	// byHand is a backend that chooses IDs first and makes machines in two calls.
	byHand   bool
	stubborn bool // pods are not evicted
	undone   int  // releases that were withdrawn because pods did not leave
	// down says that the machine's power was taken away for a restart, cut how often for which one.
	down      bool
	cut       map[string]int
	recovered int
	trace     []string
}

// memory is what a crash loses.
type memory struct {
	sighting lifecycle.Sighting
	outcome  *lifecycle.Outcome
	asked    time.Time
	fresh    bool
	refused  *gate.Refusal
}

// refusal is the gate's answer where it does not permit an act.
func refusal(act gate.Act) *gate.Refusal {
	return &gate.Refusal{Act: act, Reason: "PodsOnNode", Missing: []gate.Item{{Clause: "no pod is left", Found: "pods are bound there"}}}
}

const foreign = provider.ID("somebody-elses")

func newWorld(t *testing.T, chances []byte) *world {
	return &world{t: t, byHand: len(chances)%2 == 1, chance: newChance(chances), now: start, claim: newClaim(), made: map[int32]*provider.Machine{},
		live: map[int32]time.Time{}, late: map[int32]time.Time{}, dying: map[int32]time.Time{}, joined: map[int32]bool{}, cut: map[string]int{}}
}

func newClaim() *v1alpha1.NodeClaim {
	return &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "std-000", UID: "5d5c3f6e-0000-4000-8000-000000000001", Generation: 1},
		Spec: v1alpha1.NodeClaimSpec{
			Pool: "std", Provider: "px", Shape: "m", MaxAttempts: 3,
			RegistrationTimeout: metav1.Duration{Duration: 5 * time.Minute},
			Resources:           resources("4", "8Gi"),
			Overhead:            resources("100m", "256Mi"),
			Labels:              map[string]string{"rack": "{{.Host}}"},
			Taints:              []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}},
			StartupTaints:       []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}},
			Reserved:            []v1alpha1.PodReference{{Namespace: "default", Name: "web-1", UID: "p1"}},
		},
	}
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func (w *world) logf(format string, args ...any) {
	w.trace = append(w.trace, w.now.Sub(start).String()+" "+fmt.Sprintf(format, args...))
}

func (w *world) require(ok bool, format string, args ...any) {
	w.t.Helper()
	if !ok {
		for _, line := range w.trace[max(0, len(w.trace)-60):] {
			w.t.Log(line)
		}
		require.FailNow(w.t, fmt.Sprintf(format, args...))
	}
}

func (w *world) observed() lifecycle.Observed {
	o := lifecycle.Observed{Pods: w.pods, PodsFresh: w.memory.fresh, Machine: w.memory.sighting, Outcome: w.memory.outcome,
		Asked: w.memory.asked, Refused: w.memory.refused}
	if !o.PodsFresh && w.chance.of(5) {
		o.Pods = nil // a cache that has not seen them yet
	}
	if w.node != nil {
		if c, how := identity.Match([]*v1alpha1.NodeClaim{w.claim}, w.node); c != nil {
			o.Node, o.NodeBy = w.node, how
		}
	}
	return o
}

// tick is one turn of a loop: observe, decide, commit, perform; each may be the moment of a crash.
func (w *world) tick() {
	before, o := w.claim.DeepCopy(), w.observed()
	r := lifecycle.Step(w.claim, o, w.now)
	w.require(r.Err == nil, "%v", r.Err)
	w.require(equal(before, w.claim), "the step changed its input")
	w.require(equal(r, lifecycle.Step(w.claim, o, w.now)), "the same step twice gave two answers")
	w.judge(before, r, o)
	w.logf("%s -> %s %q next=%s %v", before.Status.State, r.Claim.Status.State, r.Claim.Status.Message, r.Next, r.Effects)
	w.lastRun, w.memory.outcome, w.memory.fresh, w.memory.refused = r, nil, false, nil
	if w.chance.of(23) {
		w.crash()
		return
	}
	w.claim = throughAPI(w.t, r.Claim)
	for _, e := range r.Effects {
		if w.chance.of(29) {
			w.crash()
			return
		}
		w.perform(e)
		if w.claim == nil {
			return
		}
	}
}

func (w *world) crash() {
	w.logf("crash")
	w.memory = memory{}
}

// judge holds what must be true of every single step.
func (w *world) judge(before *v1alpha1.NodeClaim, r lifecycle.Result, o lifecycle.Observed) {
	calls := 0
	for _, e := range r.Effects {
		switch e := e.(type) {
		case lifecycle.Create, lifecycle.Look:
			calls++
		case lifecycle.Delete:
			calls++
			w.require(e.Machine.ClaimUID == w.claim.UID && e.Machine.ID != foreign, "deletes the machine of somebody else: %v", e)
		case lifecycle.Stop:
			calls++
			w.require(e.Machine.ClaimUID == w.claim.UID && e.Machine.ID != foreign, "stops the machine of somebody else: %v", e)
			w.require(r.Claim.Status.Restart.Step == v1alpha1.RestartStopping, "stops a machine, and that is not on record")
			w.require(o.Node == nil || !ready(o.Node) || before.Status.Restart != nil, "stops the machine of a node that is ready")
		case lifecycle.Evict:
			asked := before.Spec.Release != nil && before.Spec.Release.Drain != nil
			stays := slices.ContainsFunc(e.Pods, func(p lifecycle.PodOnNode) bool { return p.Stay != "" && !p.Terminating })
			w.require(before.DeletionTimestamp != nil || asked && !stays, "evicts although nobody asked for it")
		case lifecycle.DeletePod:
			release := before.Spec.Release
			w.require(release != nil && release.Drain != nil && release.Drain.Force &&
				!w.now.Before(release.Since.Add(release.Drain.Timeout.Duration)), "deletes a pod that may have left by itself")
		case lifecycle.Withdraw:
			w.require(before.DeletionTimestamp == nil && before.Spec.Release.Drain != nil && r.Claim.Status.DrainAgain.After(start),
				"withdraws what is not to be withdrawn")
		}
	}
	w.require(calls <= 1, "%d provider calls in one step: %v", calls, r.Effects)
	from, to := before.Status.State, r.Claim.Status.State
	if from == v1alpha1.ClaimDraining && to == v1alpha1.ClaimReleasing && w.running() {
		w.require(len(w.pods) == 0 && o.PodsFresh, "released with pods on it: %v", w.pods)
	}
	if from == v1alpha1.ClaimReady && w.running() && o.Node != nil && ready(o.Node) {
		w.require(to == from || to == v1alpha1.ClaimDraining || to == v1alpha1.ClaimStarting, "a ready node goes to %s", to)
	}
}

func (w *world) running() bool {
	for a := range w.live {
		if w.made[a].State == provider.StateRunning {
			return true
		}
	}
	return false
}

// letGo is the end of the claim. A Node can stay only of a machine that the claim never heard of: made by a creation
// whose answer was lost, and gone again without us.
func (w *world) letGo() {
	w.require(len(w.live) == 0, "the claim is gone and its machine is not: %v", w.live)
	w.require(w.node == nil || w.claim.Status.MachineID == "", "the claim is gone and its node is not")
	w.claim = nil
}

func (w *world) perform(e lifecycle.Effect) {
	switch e := e.(type) {
	case lifecycle.Create:
		m, err := w.create(e.Request)
		w.answered(lifecycle.VerbCreate, m, err)
	case lifecycle.Look:
		m, err := w.look()
		w.answered(lifecycle.VerbLook, m, err)
	case lifecycle.Delete:
		if w.chance.of(6) {
			w.answered(lifecycle.VerbDelete, provider.Machine{}, refusal(gate.Delete))
			return
		}
		w.answered(lifecycle.VerbDelete, provider.Machine{}, w.delete(e.Machine))
	case lifecycle.Stop:
		m, err := w.stop()
		w.answered(lifecycle.VerbStop, m, err)
	case lifecycle.LookPods:
		w.memory.fresh = true
	case lifecycle.UpdateNode:
		if w.node != nil && !w.chance.of(7) {
			w.node = e.New.DeepCopy()
		}
	case lifecycle.DeleteNode:
		if w.chance.of(4) {
			w.memory.refused = refusal(gate.DeleteNode)
			return
		}
		if w.node != nil && w.node.UID == e.UID {
			w.node, w.pods = nil, nil
		}
	case lifecycle.Evict:
		if !w.stubborn && !w.chance.of(3) {
			w.pods = slices.DeleteFunc(slices.Clone(w.pods), leaves(e.Pods))
		}
	case lifecycle.DeletePod:
		w.pods = slices.DeleteFunc(slices.Clone(w.pods), leaves(e.Pods))
	case lifecycle.Withdraw:
		if !w.chance.of(3) {
			w.claim.Spec.Release = nil
			w.undone++
		}
	case lifecycle.DeleteClaim:
		w.claim.DeletionTimestamp = &metav1.Time{Time: w.now}
	case lifecycle.RemoveFinalizer:
		w.require(w.claim.DeletionTimestamp != nil, "takes the finalizer off a claim that stays")
		w.letGo()
	}
}

func leaves(pods []lifecycle.PodOnNode) func(lifecycle.PodOnNode) bool {
	return func(p lifecycle.PodOnNode) bool {
		return slices.ContainsFunc(pods, func(o lifecycle.PodOnNode) bool { return o.UID == p.UID })
	}
}

func (w *world) answered(verb lifecycle.Verb, m provider.Machine, err error) {
	o := lifecycle.Outcome{Verb: verb, Machine: m, Err: err, Began: w.now}
	w.memory.outcome, w.memory.asked = &o, w.now
	w.memory.sighting = w.memory.sighting.After(o)
	w.logf("%s: %v %v", verb, m.ID, err)
}

func (w *world) create(r provider.Request) (provider.Machine, error) {
	switch {
	case w.byHand && r.ID == "" && w.live[r.Attempt] == (time.Time{}):
		return provider.Machine{ID: idOf(r.Attempt), ClaimUID: r.ClaimUID, Attempt: r.Attempt, State: provider.StateReserved}, nil
	case w.live[r.Attempt] != (time.Time{}):
		if m := w.made[r.Attempt]; m.State == provider.StatePending && !w.chance.of(5) {
			m.State = provider.StateCreating
			if w.down {
				w.down, w.live[r.Attempt] = false, w.now
			}
		}
	case len(w.live) > 0:
		return provider.Machine{}, provider.ErrBusy
	case w.chance.of(11):
		return provider.Machine{}, fmt.Errorf("full: %w", provider.ErrNoCapacity)
	case w.chance.of(31):
		return provider.Machine{}, fmt.Errorf("bad shape: %w", provider.ErrRefused)
	case w.chance.of(7):
		w.late[r.Attempt] = w.now.Add(5 * time.Second)
		return provider.Machine{}, fmt.Errorf("timed out: %w", provider.ErrUnknown)
	case w.chance.of(8):
		return provider.Machine{}, provider.ErrBusy
	default:
		w.make(r.Attempt)
	}
	if w.chance.of(9) {
		return provider.Machine{}, fmt.Errorf("connection lost")
	}
	return *w.made[r.Attempt], nil
}

func (w *world) make(attempt int32) {
	if w.made[attempt] != nil {
		return // carried out once already
	}
	state := provider.StateCreating
	if w.byHand {
		state = provider.StatePending
		w.require(w.claim == nil || w.claim.Status.Attempts != attempt || w.claim.Status.ReservedID == string(idOf(attempt)),
			"made before its ID was written down")
	}
	w.made[attempt] = &provider.Machine{ID: idOf(attempt), Claim: "std-000",
		ClaimUID: "5d5c3f6e-0000-4000-8000-000000000001", Attempt: attempt, State: state,
		ProviderID: fmt.Sprintf("px://%d", attempt), Host: "h1"}
	w.live[attempt] = w.now
	w.require(len(w.live) == 1, "two machines of one claim: %v", w.live)
}

func idOf(attempt int32) provider.ID { return provider.ID(fmt.Sprintf("vm-%d", attempt)) }

func (w *world) look() (provider.Machine, error) {
	if w.chance.of(6) {
		return provider.Machine{}, provider.ErrUnknown
	}
	for a := range w.live {
		return *w.made[a], nil
	}
	return provider.Machine{}, provider.ErrNotFound
}

// stop takes the power away, at once; the answer may be lost.
func (w *world) stop() (provider.Machine, error) {
	if w.chance.of(7) {
		return provider.Machine{}, provider.ErrUnknown
	}
	if w.chance.of(31) {
		return provider.Machine{}, provider.ErrRefused
	}
	for a := range w.live {
		if m := w.made[a]; m.State == provider.StateRunning {
			asked := w.claim.Spec.Restart.Since.String()
			w.cut[asked]++
			w.require(w.cut[asked] == 1, "its power was taken away twice for one trouble")
			m.State, w.down = provider.StatePending, true
		}
		if w.chance.of(7) {
			return provider.Machine{}, provider.ErrUnknown
		}
		return *w.made[a], nil
	}
	return provider.Machine{}, provider.ErrNotFound
}

func (w *world) delete(m provider.Machine) error {
	w.require(m.ID != foreign, "deletes a foreign machine")
	switch {
	case w.chance.of(6):
		return provider.ErrUnknown
	case w.chance.of(13):
		return provider.ErrRefused
	}
	for a := range w.live {
		if w.made[a].ID == m.ID && w.dying[a].IsZero() {
			w.dying[a] = w.now.Add(3 * time.Second)
		}
		return nil
	}
	return provider.ErrNotFound
}

// pass moves time on and lets the world act by itself.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for a, at := range w.late {
		if !w.now.Before(at) {
			delete(w.late, a)
			w.make(a)
		}
	}
	for a, at := range w.dying {
		if !w.now.Before(at) {
			delete(w.dying, a)
			delete(w.live, a)
		}
	}
	for a, since := range w.live {
		w.boot(a, w.now.Sub(since))
	}
	w.disturb()
}

func (w *world) boot(attempt int32, age time.Duration) {
	m := w.made[attempt]
	if age > 10*time.Second && m.State == provider.StateCreating {
		m.State = provider.StateRunning
		if w.chance.of(9) {
			m.State = provider.StateFailed
		}
	}
	if age < 30*time.Second || m.State != provider.StateRunning {
		return
	}
	if w.joined[attempt] && w.node != nil {
		if len(w.cut) > w.recovered && !w.chance.of(3) { // it booted again
			w.recovered = len(w.cut)
			setReady(w.node, true)
		}
		return
	}
	if w.chance.of(3) {
		return // not now
	}
	w.joined[attempt] = true
	w.node = newNode(fmt.Sprintf("std-000-%d", attempt), m.ProviderID)
	w.node.UID = types.UID(w.now.String())
}

func newNode(name, providerID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "n1", Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status: corev1.NodeStatus{Allocatable: resources("3900m", "7936Mi"), Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// disturb is everybody else: operators, kubelets, the CNI that takes its taint off, the scheduler.
func (w *world) disturb() {
	if w.node != nil {
		if len(w.live) == 0 || w.down {
			setReady(w.node, false)
		} else if w.chance.of(17) {
			setReady(w.node, !ready(w.node))
		}
		w.node = w.node.DeepCopy()
		w.node.Spec.Taints = slices.DeleteFunc(w.node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "cni" })
		if len(w.node.Spec.Taints) <= 1 && !w.node.Spec.Unschedulable && w.chance.of(5) {
			p := lifecycle.PodOnNode{Namespace: "d", Name: "p", UID: types.UID(w.now.String())}
			if w.chance.of(9) {
				p.Stay = "BarePod"
			}
			w.pods = append(slices.Clone(w.pods), p)
		}
		if w.chance.of(31) {
			w.node, w.pods = nil, nil // somebody deleted it
		}
	}
	if w.chance.of(23) {
		w.stubborn = !w.stubborn
	}
	if len(w.pods) > 0 && !w.stubborn && w.chance.of(4) {
		w.pods = slices.Clone(w.pods[1:])
	}
	for a := range w.live {
		if w.chance.of(41) {
			delete(w.live, a)
			delete(w.dying, a)
		}
	}
	switch {
	case w.claim == nil:
	case w.chance.of(37):
		w.claim.Spec.Release = &v1alpha1.Release{Reason: "Idle", Since: metav1.NewMicroTime(w.now)}
	case len(w.pods) > 0 && w.claim.Spec.Release == nil && w.chance.of(5):
		w.claim.Spec.Release = &v1alpha1.Release{Reason: "Underused", Since: metav1.NewMicroTime(w.now), Drain: &v1alpha1.Drain{
			Timeout: metav1.Duration{Duration: 10 * time.Second}, Force: w.chance.of(3),
		}}
	case w.node != nil && !ready(w.node) && w.claim.Status.State == v1alpha1.ClaimReady &&
		(w.claim.Status.Restart == nil || w.claim.Status.Restart.Over()) && w.chance.of(2):
		w.claim.Spec.Restart = &v1alpha1.Restart{Since: metav1.NewMicroTime(w.now)}
	case !w.stubborn && w.chance.of(19):
		w.claim.Spec.Release = nil
	case w.chance.of(61) && w.claim.DeletionTimestamp == nil && w.claim.Status.State != "":
		w.claim.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
}

func setReady(n *corev1.Node, is bool) {
	n.Status.Conditions[0].Status = corev1.ConditionFalse
	if is {
		n.Status.Conditions[0].Status = corev1.ConditionTrue
	}
}

func ready(n *corev1.Node) bool { return n.Status.Conditions[0].Status == corev1.ConditionTrue }

// doze is how long a loop would sleep: until the step asked to look again, or less when something happens.
func (w *world) doze() time.Duration {
	d := w.lastRun.Next
	if w.memory.outcome != nil || w.memory.fresh {
		return 0 // an answer is an event
	}
	if d == 0 || d > 5*time.Second {
		return time.Second
	}
	return d
}

// equal is exact: a step that only caches something in its input has changed it.
func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
