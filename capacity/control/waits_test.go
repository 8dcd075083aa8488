package control_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/experience"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/capacity/preemption"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/wol"
	"github.com/muster-sh/muster/provider/identity"
)

// wait is one of Muster's waits, in a cluster of its own.
type wait interface {
	// begin brings about what is waited after.
	begin(now time.Time)
	// look is one look of a process that began to lead at term; it says whether the wait is over.
	look(now, term time.Time) bool
	// forget is the end of a process: what is not in objects is lost.
	forget()
}

type row struct {
	name   string
	kind   string // safety or patience
	length time.Duration
	wait   func(t *testing.T) wait
}

const year = 365 * 24 * time.Hour

// waits are those of docs/time.md, in its order.
func waits() []row {
	const timeout = 15 * time.Minute
	return []row{
		{"a closed node settles", "safety", 2 * time.Second, inClaim(v1alpha1.ClaimDraining, settling)},
		{"volumes are detached", "safety", 2 * time.Minute, inClaim(v1alpha1.ClaimDraining, detaching)},
		{"pods leave a node", "safety", timeout, inClaim(v1alpha1.ClaimDraining, emptying)},
		{"evicted pods of a dead node end", "safety", time.Minute, inClaim(v1alpha1.ClaimDraining, dying)},
		{"a creation without an answer is carried out", "safety", 10 * time.Second, inClaim(v1alpha1.ClaimLaunching, unanswered)},
		{"a machine that did not come up goes", "safety", time.Minute, inClaim(v1alpha1.ClaimReleasing, staying)},
		{"a machine registers", "safety", timeout, inClaim(v1alpha1.ClaimJoining, joining)},
		{"a Node that is gone comes back", "safety", timeout, inClaim(v1alpha1.ClaimReady, missing)},
		{"a step of a restart", "safety", timeout, inClaim(v1alpha1.ClaimReady, booting)},
		{"after an error of a provider", "patience", time.Second, inClaim(v1alpha1.ClaimLaunching, erring)},
		{"before a machine is launched again", "patience", 30 * time.Second, inClaim(v1alpha1.ClaimLaunching, relaunching)},
		{"a claim that failed is kept", "patience", 10 * time.Minute, inClaim(v1alpha1.ClaimLaunching, refused)},
		{"after a drain in vain", "patience", 15 * time.Minute, inClaim(v1alpha1.ClaimReady, undone)},
		{"a machine has no claim", "safety", housekeeping.Grace, func(*testing.T) wait { return &orphan{} }},
		{"a Node without a claim is silent", "safety", housekeeping.StrayAge, func(t *testing.T) wait { return newStray(t) }},
		{"a silent node is repaired", "safety", 10 * time.Minute, func(*testing.T) wait { return &sick{} }},
		{"an outage", "safety", capacity.OutageLasts, func(*testing.T) wait { return &outage{} }},
		{"a node is idle", "safety", time.Minute, func(*testing.T) wait { return &idle{} }},
		{"a pod was not heard of", "safety", 30 * time.Second, func(*testing.T) wait { return &quiet{} }},
		{"a hold is asked about", "safety", 30 * time.Second, func(*testing.T) wait { return &heldBack{} }},
		{"a pod in deletion ends", "safety", time.Minute, func(*testing.T) wait { return &leaving{} }},
		{"room is kept for pods", "patience", capacity.ReservationTTL, func(*testing.T) wait { return &reserved{} }},
		{"a pool buys after a failure", "patience", 20 * time.Minute, func(*testing.T) wait { return &backoff{} }},
		{"a probe of an open circuit", "patience", time.Hour, func(*testing.T) wait { return &circuit{} }},
		{"the power of a host reads the same", "safety", 3 * time.Second, inHost(v1alpha1.HostPoweringOff, reads)},
		{"an operating system shuts down", "safety", 5 * time.Minute, inHost(v1alpha1.HostPoweringOff, stops)},
		{"a host comes on", "safety", 10 * time.Minute, inHost(v1alpha1.HostPoweringOn, comesOn)},
		{"a host is in quarantine", "patience", 10 * time.Minute, inHost(v1alpha1.HostQuarantined, coolsDown)},
		{"the lease of a node is not renewed", "safety", 80 * time.Second, func(t *testing.T) wait { return &lease{t: t} }},
	}
}

// The wall clock is set while a process runs: every wait takes exactly its length. (M19: a wait of a second became an hour.)
func TestM19NoWaitFollowsAClockThatIsSetMeanwhile(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, r := range waits() {
		for _, jump := range []time.Duration{-10 * year, -time.Hour, time.Hour, 10 * year} {
			t.Run(fmt.Sprint(r.name, jump), func(t *testing.T) {
				passed := time.Duration(0)
				clock := control.NewClock(start, func() time.Duration { return passed })
				w := r.wait(t)
				w.begin(clock.Now())
				require.False(t, w.look(clock.Now(), start), "it has begun")
				passed = r.length / 2
				wall := start.Add(passed + jump)
				require.Equal(t, jump, clock.Offset(wall))
				require.False(t, w.look(clock.Now(), start), "half of it")
				passed = r.length - time.Microsecond
				require.False(t, w.look(clock.Now(), start), "all but a moment")
				passed = r.length
				require.True(t, w.look(clock.Now(), start), "all of it")
			})
		}
	}
}

// The wall clock is set between the end of one process and the beginning of the next: a safety wait takes at least its length, and no wait
// takes longer than that from then on.
func TestM19AcrossARestartNoSafetyWaitIsShorterAndNoWaitLongerThanItsLength(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, r := range waits() {
		for _, jump := range []time.Duration{-10 * year, -time.Hour, 0, time.Hour, 10 * year} {
			t.Run(fmt.Sprint(r.name, jump), func(t *testing.T) {
				w := r.wait(t)
				w.begin(start)
				require.False(t, w.look(start, start), "it has begun")
				w.forget()
				term := start.Add(r.length/2 + jump)
				for _, passed := range []time.Duration{0, r.length/2 - time.Microsecond} {
					over := w.look(term.Add(passed), term)
					require.False(t, over && r.kind == "safety", "over %s after it began", r.length/2+passed)
					if over {
						return
					}
				}
				w.look(term.Add(r.length-time.Microsecond), term)
				require.True(t, w.look(term.Add(r.length), term), "its whole length after the restart")
			})
		}
	}
}

// docs/time.md lists every wait with its kind and its length.
func TestThePageListsTheWaits(t *testing.T) {
	text, err := os.ReadFile("../../docs/time.md")
	require.NoError(t, err)
	var want, got []string
	for _, r := range waits() {
		want = append(want, fmt.Sprint(r.name, " ", r.kind, " ", r.length))
	}
	for _, line := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (safety|patience) \| ([^|]+) \|`).FindAllStringSubmatch(string(text), -1) {
		length, err := time.ParseDuration(strings.Fields(line[3])[0])
		require.NoError(t, err, line[0])
		got = append(got, fmt.Sprint(line[1], " ", line[2], " ", length))
	}
	require.Equal(t, want, got)
}

// steps is a claim that is stepped, as the API server keeps it.
type steps struct {
	claim  *v1alpha1.NodeClaim
	node   *corev1.Node
	seen   func(o *lifecycle.Observed, now time.Time)
	set    func(s *steps, now time.Time)
	over   func(s *steps, r lifecycle.Result) bool
	asked  time.Time
	called *lifecycle.Outcome
}

func inClaim(state v1alpha1.ClaimState, scene func(s *steps)) func(*testing.T) wait {
	return func(*testing.T) wait {
		s := &steps{seen: func(*lifecycle.Observed, time.Time) {}, set: func(*steps, time.Time) {}}
		s.claim = &v1alpha1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "std-000", UID: "uid-0", Finalizers: []string{v1alpha1.ClaimFinalizer}},
			Spec: v1alpha1.NodeClaimSpec{Pool: "std", Provider: "px", Shape: "m", MaxAttempts: 3, Resources: resources("4", "8Gi"),
				RegistrationTimeout: metav1.Duration{Duration: 15 * time.Minute}},
			Status: v1alpha1.NodeClaimStatus{State: state, Attempts: 1},
		}
		scene(s)
		return s
	}
}

func (s *steps) begin(now time.Time) { s.set(s, now) }
func (s *steps) forget()             { s.asked, s.called = time.Time{}, nil }

func (s *steps) look(now, term time.Time) bool {
	o := lifecycle.Observed{Node: s.node, NodeBy: identity.ByName, PodsFresh: true, Asked: s.asked, Outcome: s.called, Term: term}
	if s.node == nil {
		o.NodeBy = identity.NoMatch
	}
	s.called = nil
	s.seen(&o, now)
	r := lifecycle.Step(s.claim, o, now)
	s.claim = r.Claim
	return s.over(s, r)
}

func micro(t time.Time) *metav1.MicroTime { return new(metav1.NewMicroTime(t)) }

func (s *steps) condition(kind string, status metav1.ConditionStatus, reason string, at time.Time) {
	meta.SetStatusCondition(&s.claim.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(at)})
}

func (s *steps) reason(kind string) string {
	if c := meta.FindStatusCondition(s.claim.Status.Conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

func (s *steps) was(state v1alpha1.ClaimState) bool { return s.claim.Status.State == state }

// served is a claim whose node was ready, closed where it drains.
func (s *steps) served(now time.Time) {
	st := &s.claim.Status
	st.MachineID, st.NodeName, st.LaunchedAt, st.RegisteredAt, st.ReadyAt = "7", "std-000", micro(now), micro(now), micro(now)
	s.condition(v1alpha1.ConditionInitialized, metav1.ConditionTrue, "Initialized", now)
	s.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "std-000", UID: "node", Annotations: map[string]string{
		v1alpha1.RegisteredAnnotation: "uid-0"}}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	if st.State == v1alpha1.ClaimDraining {
		s.node = lifecycle.FenceNode(s.node, provider.Machine{ClaimUID: "uid-0"}, "px")
	}
}

func (s *steps) released(reason string, drain *v1alpha1.Drain, now time.Time) {
	s.claim.Spec.Release = &v1alpha1.Release{Reason: reason, Since: *micro(now), Drain: drain}
	s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, lifecycle.ReasonPods, now)
}

func (s *steps) silent() { s.node.Status.Conditions[0].Status = corev1.ConditionUnknown }

func running(o *lifecycle.Observed, now time.Time) {
	o.Machine = lifecycle.Seen(provider.Machine{ID: "7", ClaimUID: "uid-0", Attempt: 1, State: provider.StateRunning}, now)
	o.Asked = now
}

func settling(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.served(now)
		s.released("Idle", nil, now)
		s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, lifecycle.ReasonClosing, now)
	}
	s.over = func(s *steps, _ lifecycle.Result) bool {
		return s.reason(v1alpha1.ConditionDraining) != lifecycle.ReasonSettling
	}
}

func detaching(s *steps) {
	s.set = func(s *steps, now time.Time) { s.served(now); s.released("Idle", nil, now) }
	s.seen = func(o *lifecycle.Observed, now time.Time) { o.Attached = []string{"pvc-1"}; running(o, now) }
	s.over = func(s *steps, _ lifecycle.Result) bool { return s.was(v1alpha1.ClaimReleasing) }
}

func emptying(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.served(now)
		s.released("Drifted", &v1alpha1.Drain{Timeout: metav1.Duration{Duration: 15 * time.Minute}}, now)
	}
	s.seen = func(o *lifecycle.Observed, now time.Time) {
		o.Pods = []lifecycle.PodOnNode{{Namespace: "default", Name: "web", UID: "web"}}
		running(o, now)
	}
	s.over = func(s *steps, _ lifecycle.Result) bool {
		return s.reason(v1alpha1.ConditionDraining) == lifecycle.ReasonBlocked
	}
}

func dying(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.served(now)
		s.silent()
		s.released(lifecycle.ReasonUnhealthy, &v1alpha1.Drain{Timeout: metav1.Duration{Duration: time.Hour}}, now)
	}
	s.seen = func(o *lifecycle.Observed, now time.Time) {
		o.Pods = []lifecycle.PodOnNode{{Namespace: "default", Name: "web", UID: "web", Terminating: true}}
		running(o, now)
	}
	s.over = func(s *steps, _ lifecycle.Result) bool { return s.was(v1alpha1.ClaimReleasing) }
}

func unanswered(s *steps) {
	s.set = func(s *steps, _ time.Time) { s.claim.Spec.Release = &v1alpha1.Release{Reason: "Idle"} }
	s.seen = func(o *lifecycle.Observed, now time.Time) {
		o.Machine = lifecycle.Sighting{Presence: lifecycle.Absent, At: now}
	}
	s.over = func(s *steps, _ lifecycle.Result) bool {
		return meta.IsStatusConditionTrue(s.claim.Status.Conditions, v1alpha1.ConditionReleased)
	}
}

func staying(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.claim.Status.MachineID, s.claim.Status.LaunchedAt = "7", micro(now)
		for _, kind := range []string{v1alpha1.ConditionReleased, v1alpha1.ConditionLaunched} {
			s.condition(kind, metav1.ConditionFalse, lifecycle.ReasonTimeout, now)
		}
	}
	s.seen = running
	s.over = func(s *steps, _ lifecycle.Result) bool {
		return s.reason(v1alpha1.ConditionReleased) == lifecycle.ReasonStuck
	}
}

func joining(s *steps) {
	s.set = func(s *steps, now time.Time) { s.claim.Status.MachineID, s.claim.Status.LaunchedAt = "7", micro(now) }
	s.seen = running
	s.over = func(s *steps, _ lifecycle.Result) bool { return s.was(v1alpha1.ClaimReleasing) }
}

func missing(s *steps) {
	s.set = func(s *steps, now time.Time) { s.served(now.Add(-time.Hour)); s.node = nil }
	s.seen = running
	s.over = func(s *steps, _ lifecycle.Result) bool { return s.was(v1alpha1.ClaimReleasing) }
}

func booting(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.served(now)
		s.silent()
		s.claim.Spec.Restart = &v1alpha1.Restart{Since: *micro(now)}
		s.claim.Status.Restart = &v1alpha1.RestartStatus{Since: *micro(now), At: *micro(now), Step: v1alpha1.RestartBooting}
	}
	s.seen = running
	s.over = func(s *steps, _ lifecycle.Result) bool { return s.claim.Status.Restart.Over() }
}

func erring(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.called = &lifecycle.Outcome{Verb: lifecycle.VerbCreate, Err: provider.ErrUnknown, Began: now}
	}
	s.over = func(_ *steps, r lifecycle.Result) bool {
		return slices.ContainsFunc(r.Effects, func(e lifecycle.Effect) bool { _, looks := e.(lifecycle.Look); return looks })
	}
}

func relaunching(s *steps) {
	s.set = func(s *steps, now time.Time) {
		*s.claim = v1alpha1.NodeClaim{ObjectMeta: s.claim.ObjectMeta, Spec: s.claim.Spec, Status: v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReleasing,
			Attempts: 1, MachineID: "7", LaunchedAt: micro(now), NodeName: "std-000"}}
		for _, kind := range []string{v1alpha1.ConditionReleased, v1alpha1.ConditionLaunched} {
			s.condition(kind, metav1.ConditionFalse, lifecycle.ReasonFailed, now)
		}
	}
	s.seen = func(o *lifecycle.Observed, now time.Time) {
		o.Machine = lifecycle.Sighting{Presence: lifecycle.Absent, At: now}
	}
	s.over = func(_ *steps, r lifecycle.Result) bool {
		return slices.ContainsFunc(r.Effects, func(e lifecycle.Effect) bool { _, makes := e.(lifecycle.Create); return makes })
	}
}

func refused(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.called = &lifecycle.Outcome{Verb: lifecycle.VerbCreate, Err: provider.ErrRefused, Began: now}
	}
	s.over = func(s *steps, _ lifecycle.Result) bool { return !s.was(v1alpha1.ClaimFailed) }
}

func undone(s *steps) {
	s.set = func(s *steps, now time.Time) {
		s.served(now)
		s.claim.Status.DrainFailures, s.claim.Status.DrainAgain = 1, micro(now.Add(15*time.Minute))
		s.condition(v1alpha1.ConditionDraining, metav1.ConditionFalse, lifecycle.ReasonBlocked, now)
	}
	var at time.Time
	s.seen = func(_ *lifecycle.Observed, now time.Time) { at = now }
	s.over = func(s *steps, _ lifecycle.Result) bool { return !at.Before(s.claim.Status.DrainAgain.Time) }
}

// orphan is a machine that no claim speaks for.
type orphan struct{ suspects housekeeping.Suspects }

func (o *orphan) begin(time.Time) {}
func (o *orphan) forget()         { o.suspects = nil }
func (o *orphan) look(now, _ time.Time) bool {
	l := housekeeping.Listing{Machines: []provider.Machine{{ID: "7", ClaimUID: "gone", Cluster: "own"}}, Began: now}
	o.suspects = o.suspects.Follow(l, "own")
	return o.suspects.Judge(l, "own")[0].Standing == housekeeping.Orphaned
}

// stray is a Node whose claim and machine are gone, and the loop that deletes it.
type stray struct{ *house }

func newStray(t *testing.T) *stray { return &stray{newHouse(t)} }

func (s *stray) begin(now time.Time) {
	s.machine("n", "own", false)
	s.machines = nil
	s.nodes[0].Annotations = map[string]string{v1alpha1.RegisteredAnnotation: "uid-n", v1alpha1.ProviderAnnotation: "px"}
	s.nodes[0].Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now)}
}
func (s *stray) forget() { s.restart() }
func (s *stray) look(now, _ time.Time) bool {
	s.now = now
	s.loop.Tick(s.t.Context(), now)
	return len(s.nodes) == 0
}

// watched is a cluster with a pool, as a process that began a moment ago sees it.
type watched struct {
	live   *capacity.Live
	pool   *v1alpha1.NodePool
	nodes  []*corev1.Node
	claims []*v1alpha1.NodeClaim
	pods   []*corev1.Pod
}

// see has a process see all of it, unless it has.
func (w *watched) see(now time.Time) {
	if w.live != nil {
		return
	}
	w.live = capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	w.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "px"}})
	w.live.SetPool(w.pool)
	for _, n := range w.nodes {
		w.live.SetNode(n, now)
	}
	for _, c := range w.claims {
		w.live.SetClaim(c)
	}
	for _, p := range w.pods {
		w.live.SetPod(p, now)
	}
}

func (w *watched) forget() { w.live = nil }

func (w *watched) make() {
	w.pool = &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePoolSpec{
		Provider: "px", Limits: v1alpha1.Limits{MaxNodes: 50}, Template: v1alpha1.NodeTemplate{Shapes: []v1alpha1.Shape{{Name: "m", Resources: resources("4", "8Gi")}}},
		Repair:    &v1alpha1.Repair{After: metav1.Duration{Duration: 10 * time.Minute}, Strategy: v1alpha1.RepairByReplacement},
		ScaleDown: v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{Duration: time.Minute}},
	}}
}

func (w *watched) node(i int, silent bool, at time.Time) {
	name := capacity.SlotName("p", i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: resources("4", "8Gi")}}
	if silent {
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: at}}}
	}
	w.nodes = append(w.nodes, n)
	w.claims = append(w.claims, &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:   v1alpha1.NodeClaimSpec{Pool: "p", Provider: "px", Shape: "m", Resources: resources("4", "8Gi")},
		Status: v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: name, ReadyAt: micro(at), LaunchedAt: micro(at)}})
}

func pending(at time.Time) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web", CreationTimestamp: metav1.NewTime(at)},
		Spec: corev1.PodSpec{SchedulerName: "muster", Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: resources("1", "1Gi")}}}}}
}

type sick struct{ watched }

func (s *sick) begin(now time.Time) { s.make(); s.node(0, true, now); s.node(1, false, now) }
func (s *sick) look(now, _ time.Time) bool {
	s.see(now)
	return housekeeping.Repair(s.live.View(), now).Reasons["p-000"] == housekeeping.Replaced
}

type outage struct{ watched }

func (o *outage) begin(now time.Time) {
	o.make()
	for i := range 4 {
		o.node(i, i < 2, now)
	}
}
func (o *outage) look(now, _ time.Time) bool {
	o.see(now)
	return !o.live.View().Outage(now.Add(-capacity.OutageLasts)).On()
}

type idle struct {
	watched
	memory reaper.Memory
}

func (i *idle) begin(now time.Time) { i.make(); i.node(0, false, now) }
func (i *idle) forget()             { i.watched.forget(); i.memory = reaper.Memory{} }
func (i *idle) look(now, _ time.Time) bool {
	i.see(now)
	v := i.live.View()
	i.memory = i.memory.Follow(v, now)
	return reaper.Decide(v, i.memory, now).Reasons["p-000"] == reaper.Idle
}

type quiet struct{ watched }

func (q *quiet) begin(now time.Time) { q.make(); q.pods = []*corev1.Pod{pending(now)} }
func (q *quiet) look(now, _ time.Time) bool {
	q.see(now)
	return !q.live.Unheard(now)
}

type heldBack struct{ watched }

func (h *heldBack) begin(now time.Time) {
	h.make()
	h.node(0, false, now)
	h.pods = []*corev1.Pod{pending(now)}
	h.pods[0].Status.NominatedNodeName = "p-000"
}
func (h *heldBack) look(now, _ time.Time) bool {
	h.see(now)
	return len(h.live.HoldsBefore(now.Add(-30*time.Second+time.Nanosecond))) > 0
}

type leaving struct{ watched }

func (l *leaving) begin(now time.Time) {
	l.make()
	p := pending(now)
	p.Spec.NodeName, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = "p-000", &metav1.Time{Time: now.Add(30 * time.Second)}, new(int64(30))
	l.pods = []*corev1.Pod{p}
}
func (l *leaving) look(now, _ time.Time) bool {
	l.see(now)
	return !preemption.Leaves(l.live.Pod("web"), now)
}

type reserved struct{ watched }

func (r *reserved) begin(now time.Time) {
	r.make()
	r.node(0, false, now)
	r.claims[0].Spec.Reserved = []v1alpha1.PodReference{{Namespace: "default", Name: "web", UID: "web"}}
}
func (r *reserved) look(now, term time.Time) bool {
	r.claims[0] = lifecycle.Step(r.claims[0], lifecycle.Observed{Term: term}, now).Claim
	r.see(now)
	r.live.SetClaim(r.claims[0])
	return r.live.Expire(now) == 0
}

type backoff struct{ watched }

func (b *backoff) begin(now time.Time) {
	b.make()
	b.see(now)
	b.pool.Status.Template = b.live.View().Template(b.pool).Hash
	b.pool.Status.Backoffs = []v1alpha1.PoolBackoff{{Class: "NoCapacity", Failures: 2, Since: *micro(now), Until: *micro(now.Add(20 * time.Minute))}}
}
func (b *backoff) look(now, _ time.Time) bool {
	b.see(now)
	b.pool.Status.Backoffs = experience.Backoffs(b.live.View(), b.pool, nil, now)
	return len(b.pool.Status.Backoffs) == 0 || !b.pool.Status.Backoffs[0].Until.After(now)
}

type circuit struct{ watched }

func (c *circuit) begin(now time.Time) {
	c.make()
	c.see(now)
	c.pool.Status.Template = c.live.View().Template(c.pool).Hash
	c.pool.Status.Circuits = []v1alpha1.Circuit{{Pods: "00", Vain: []types.UID{"a", "b"}, Since: metav1.NewTime(now), NextProbe: metav1.NewTime(now.Add(time.Hour))}}
}
func (c *circuit) look(now, _ time.Time) bool {
	c.see(now)
	c.pool.Status.Circuits = experience.Of(c.live.View(), now).Circuits["p"]
	return len(c.pool.Status.Circuits) == 0 || !c.pool.Status.Circuits[0].NextProbe.After(now)
}

// bare is a host that is stepped.
type bare struct {
	host  *v1alpha1.Host
	power host.Power
	seen  host.Look
	set   func(st *v1alpha1.HostStatus, now time.Time)
	over  func(b *bare, r host.Result) bool
}

func inHost(state v1alpha1.HostState, scene func(b *bare)) func(*testing.T) wait {
	return func(*testing.T) wait {
		b := &bare{host: &v1alpha1.Host{ObjectMeta: metav1.ObjectMeta{Name: "h", UID: "h"}, Status: v1alpha1.HostStatus{State: state}}}
		scene(b)
		return b
	}
}

func (b *bare) begin(now time.Time) {
	st := &b.host.Status
	st.Since, st.SwitchedOn = micro(now), true
	st.Claim = &v1alpha1.HostClaim{Name: "std-000", UID: "uid-0", At: *micro(now)}
	b.set(st, now)
}
func (b *bare) forget() { b.seen = host.Look{} }
func (b *bare) look(now, term time.Time) bool {
	b.seen = b.seen.After(host.Outcome{Call: host.CallRead, Reading: host.Reading{Power: b.power}, Began: now})
	r := host.Step(b.host, host.Observed{Look: b.seen, Term: term}, host.DefaultRules(), now)
	b.host = r.Host
	return b.over(b, r)
}

func reads(b *bare) {
	b.power, b.set = host.Off, func(st *v1alpha1.HostStatus, now time.Time) { st.Tries, st.LastTry = 1, micro(now) }
	b.over = func(b *bare, _ host.Result) bool { return b.host.Status.State == v1alpha1.HostOff }
}

func stops(b *bare) {
	b.power, b.set = host.On, func(st *v1alpha1.HostStatus, now time.Time) { st.Tries, st.LastTry, st.Served = 1, micro(now), true }
	b.over = func(_ *bare, r host.Result) bool { return r.Call == host.CallOff }
}

func comesOn(b *bare) {
	b.power, b.set = host.Unknown, func(st *v1alpha1.HostStatus, now time.Time) { st.Tries, st.LastTry = 1, micro(now) }
	b.over = func(b *bare, _ host.Result) bool { return b.host.Status.State == v1alpha1.HostError }
}

func coolsDown(b *bare) {
	b.power, b.set = host.Off, func(st *v1alpha1.HostStatus, now time.Time) {
		st.Claim, st.Quarantine = nil, &v1alpha1.Quarantine{Reason: host.FaultNoEffect, Since: *micro(now), Until: micro(now.Add(10 * time.Minute))}
	}
	b.over = func(b *bare, _ host.Result) bool { return b.host.Status.State == v1alpha1.HostOff }
}

// lease is the node of a host without a BMC, which is silent.
type lease struct {
	t      *testing.T
	node   *corev1.Node
	client *fake.Clientset
	leases *wol.Leases
}

func (l *lease) begin(now time.Time) {
	l.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}}}
	l.client = fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: "n"},
		Spec: coordinationv1.LeaseSpec{RenewTime: micro(now), LeaseDurationSeconds: new(int32(40))}})
	l.forget()
}
func (l *lease) forget()                            { l.leases = &wol.Leases{} }
func (l *lease) NodeOf(*v1alpha1.Host) *corev1.Node { return l.node }
func (l *lease) look(now, _ time.Time) bool {
	k := wol.Kube{Client: l.client, Nodes: l, Now: func() time.Time { return now }, Leases: l.leases, Answers: func(context.Context, string) bool { return false }}
	s, err := k.Look(l.t.Context(), &v1alpha1.Host{})
	require.NoError(l.t, err)
	return !s.Alive
}
