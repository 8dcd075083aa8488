package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

func tableRows() []lifecycle.Row { return lifecycle.Table() }

// scene is a claim and what is observed of it; cases change it.
type scene struct {
	claim *v1alpha1.NodeClaim
	seen  lifecycle.Observed
	now   time.Time
}

// in is a claim that came to a state on the straight way, with everything as it is then: launched two minutes ago.
func in(state v1alpha1.ClaimState) *scene {
	s := &scene{claim: newClaim(), now: start.Add(10 * time.Minute)}
	if state == v1alpha1.ClaimPending {
		return s
	}
	r := lifecycle.Step(s.claim, s.seen, s.now.Add(-3*time.Minute))
	s.claim = r.Claim
	if state == v1alpha1.ClaimLaunching {
		return s
	}
	if state == v1alpha1.ClaimFailed {
		s.answer(lifecycle.VerbCreate, provider.ErrNoCapacity)
		s.claim = lifecycle.Step(s.claim, s.seen, s.now).Claim
		s.seen.Outcome = nil
		return s
	}
	s.claim.Status.LaunchedAt = ago(s.now, 2*time.Minute)
	s.claim.Status.MachineID, s.claim.Status.ProviderID, s.claim.Status.Host = "vm-1", "px://1", "h1"
	s.claim.Status.State = state
	s.conditionSince(v1alpha1.ConditionLaunched, metav1.ConditionTrue, "Launched", 2*time.Minute)
	s.machine(provider.StateRunning)
	if state == v1alpha1.ClaimJoining {
		return s
	}
	s.claim.Status.NodeName, s.claim.Status.RegisteredAt = "n", ago(s.now, time.Minute)
	s.node()
	if state == v1alpha1.ClaimStarting {
		return s
	}
	s.claim.Status.ReadyAt = ago(s.now, 30*time.Second)
	s.condition(v1alpha1.ConditionInitialized, metav1.ConditionTrue, "Initialized")
	if state == v1alpha1.ClaimReady {
		s.seen.Node.Spec.Taints = s.seen.Node.Spec.Taints[:1]
		s.condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "NodeReady")
		return s
	}
	s.claim.Spec.Release = &v1alpha1.Release{Reason: "Idle", Since: *ago(s.now, time.Minute)}
	s.seen.Node.Spec.Taints = append(s.seen.Node.Spec.Taints[:1], corev1.Taint{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule})
	s.seen.Node.Spec.Unschedulable = true
	s.seen.Node.Annotations[v1alpha1.CordonedAnnotation] = "true"
	s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "WaitingForPods")
	if state == v1alpha1.ClaimReleasing {
		s.condition(v1alpha1.ConditionReleased, metav1.ConditionFalse, "Idle")
	}
	return s
}

// drains has the release evict for so much longer.
func (s *scene) drains(left time.Duration) {
	timeout := 15 * time.Minute
	s.claim.Spec.Release = &v1alpha1.Release{
		Reason: "Underused", Since: metav1.NewMicroTime(s.now.Add(left - timeout)),
		Drain: &v1alpha1.Drain{Timeout: metav1.Duration{Duration: timeout}},
	}
}

func ago(now time.Time, d time.Duration) *metav1.MicroTime {
	m := metav1.NewMicroTime(now.Add(-d))
	return &m
}

func (s *scene) condition(name string, status metav1.ConditionStatus, reason string) {
	s.conditionSince(name, status, reason, time.Minute)
}

func (s *scene) conditionSince(name string, status metav1.ConditionStatus, reason string, ago time.Duration) {
	meta.SetStatusCondition(&s.claim.Status.Conditions, metav1.Condition{Type: name, Status: status, Reason: reason,
		LastTransitionTime: metav1.NewTime(s.now.Add(-ago))})
}

// machine is what the provider said a moment ago.
func (s *scene) machine(state provider.State) {
	s.seen.Machine = lifecycle.Seen(provider.Machine{ID: "vm-1", Claim: s.claim.Name, ClaimUID: s.claim.UID, Attempt: 1,
		State: state, ProviderID: "px://1", Host: "h1", Message: "no boot disk"}, s.now)
	s.seen.Asked = s.now
}

// seeded is a machine that still has what it joined with.
func (s *scene) seeded() {
	s.claim.Status.Seeded = true
	s.seen.Machine.Machine.Seeded = true
}

func (s *scene) absent() {
	s.seen.Machine = lifecycle.Sighting{Presence: lifecycle.Absent, At: s.now}
	s.seen.Asked = s.now
}

func (s *scene) unseen() { s.seen.Machine, s.seen.Asked = lifecycle.Sighting{}, time.Time{} }

func (s *scene) answer(verb lifecycle.Verb, err error) {
	s.seen.Outcome = &lifecycle.Outcome{Verb: verb, Err: err, Began: s.now}
	s.seen.Asked = s.now
	if err == nil {
		s.seen.Outcome.Machine = provider.Machine{ID: "vm-1", Claim: s.claim.Name, ClaimUID: s.claim.UID, Attempt: 1,
			State: provider.StateCreating, ProviderID: "px://1"}
	}
}

// node is a registered, ready Node that still has our starting taint.
func (s *scene) node() {
	n := newNode("n", "px://1")
	n.Annotations = map[string]string{v1alpha1.RegisteredAnnotation: string(s.claim.UID)}
	n.Spec.Taints = []corev1.Taint{s.claim.Spec.Taints[0], {Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule}}
	s.seen.Node, s.seen.NodeBy = n, identity.ByProviderID
}

func (s *scene) noNode() { s.seen.Node, s.seen.NodeBy = nil, identity.NoMatch }

func (s *scene) deleted() { s.claim.DeletionTimestamp = &metav1.Time{Time: s.now} }

func (s *scene) pods(n int) {
	for i := range n {
		s.seen.Pods = append(s.seen.Pods, lifecycle.PodOnNode{Namespace: "d", Name: fmt.Sprint("p", i), Terminating: i > 0})
	}
}

// effects lists what a step asked for, events by their reason.
func effects(r lifecycle.Result) []string {
	out := []string{}
	for _, e := range r.Effects {
		if ev, ok := e.(lifecycle.Event); ok {
			out = append(out, "event "+ev.Reason)
			continue
		}
		out = append(out, e.String())
	}
	return out
}

type row struct {
	name    string
	from    v1alpha1.ClaimState
	change  func(*scene)
	to      v1alpha1.ClaimState
	effects []string
	next    time.Duration
	says    string
}

const (
	pending   = v1alpha1.ClaimPending
	launching = v1alpha1.ClaimLaunching
	joining   = v1alpha1.ClaimJoining
	starting  = v1alpha1.ClaimStarting
	isReady   = v1alpha1.ClaimReady
	draining  = v1alpha1.ClaimDraining
	releasing = v1alpha1.ClaimReleasing
	failed    = v1alpha1.ClaimFailed
)

func runRows(t *testing.T, rows []row) {
	for _, c := range rows {
		t.Run(fmt.Sprintf("%s: %s", c.from, c.name), func(t *testing.T) {
			s := in(c.from)
			if c.change != nil {
				c.change(s)
			}
			r := lifecycle.Step(s.claim, s.seen, s.now)
			require.NoError(t, r.Err)
			require.Equal(t, c.to, r.Claim.Status.State, r.Claim.Status.Message)
			if c.effects == nil {
				c.effects = []string{}
			}
			require.Equal(t, c.effects, effects(r))
			require.Equal(t, c.next, r.Next)
			require.Contains(t, r.Claim.Status.Message, c.says)
			requireSound(t, r.Claim)
		})
	}
}

// requireSound holds what the API server would refuse.
func requireSound(t *testing.T, c *v1alpha1.NodeClaim) {
	t.Helper()
	require.NotContains(t, c.Status.Message, "\n")
	for _, condition := range c.Status.Conditions {
		require.Regexp(t, `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`, condition.Reason, condition.Type)
		require.False(t, condition.LastTransitionTime.IsZero(), condition.Type)
	}
	require.NotEmpty(t, c.Status.Message)
}

func TestPendingAndLaunching(t *testing.T) {
	runRows(t, []row{
		{"orders the machine", pending, nil, launching, []string{"event Ordered", "create std-000 attempt 1"}, 0, "attempt 1 of 3"},
		{"goes at once when it is deleted", pending, (*scene).deleted, pending,
			[]string{"event Released", "remove finalizer of std-000"}, 0, "no machine was ordered"},
		{"goes when nobody wants it any more", pending, func(s *scene) { s.claim.Spec.Release = &v1alpha1.Release{Reason: "Idle"} },
			pending, []string{"event Released", "delete claim std-000", "remove finalizer of std-000"}, 0, ""},
		{"asks again after a crash", launching, nil, launching, []string{"create std-000 attempt 1"}, 0, ""},
		{"remembers what was accepted", launching, func(s *scene) { s.answer("create", nil) }, launching,
			[]string{"event Launched"}, time.Second, "making machine vm-1"},
		{"joins when the machine runs", launching, func(s *scene) { s.machine(provider.StateRunning) }, joining,
			[]string{"event Launched"}, 15 * time.Second, "waiting for its node"},
		{"fails for a minute where there is no room", launching, func(s *scene) { s.answer("create", provider.ErrNoCapacity) },
			failed, []string{"event NoCapacity"}, time.Minute, "no room for shape m"},
		{"fails for ten minutes when it is refused", launching, func(s *scene) { s.answer("create", provider.ErrRefused) },
			failed, []string{"event LaunchRefused"}, 10 * time.Minute, "refuses to make"},
		{"fails for ten minutes when an operator has to change something", launching, func(s *scene) { s.answer("create", provider.ErrMisconfigured) },
			failed, []string{"event LaunchRefused"}, 10 * time.Minute, "refuses to make"},
		{"waits when the backend is busy", launching, func(s *scene) { s.answer("create", provider.ErrBusy) }, launching, nil,
			15 * time.Second, "provider px is busy; asking again: busy"},
		{"asks again after a busy answer without a look", launching, func(s *scene) {
			s.claim.Status.NextAttempt, s.claim.Status.LastError = ago(s.now, time.Second), "busy"
		}, launching, []string{"create std-000 attempt 1"}, 0, ""},
		{"has nothing to look for after a busy answer that followed an unknown one", launching, func(s *scene) {
			s.claim.Status.Errors = 3
			s.answer("create", provider.ErrBusy)
		}, launching, nil, 15 * time.Second, "is busy"},
		{"waits shortly for its turn when it was just ordered", launching, func(s *scene) {
			s.now = s.now.Add(2*time.Second - 3*time.Minute)
			s.answer("create", provider.ErrBusy)
		}, launching, nil, time.Second, "is busy"},
		{"waits longer for its turn the longer it has waited", launching, func(s *scene) {
			s.now = s.now.Add(40*time.Second - 3*time.Minute)
			s.answer("create", provider.ErrBusy)
		}, launching, nil, 5 * time.Second, "is busy"},
		{"waits when the answer is unknown", launching, func(s *scene) { s.answer("create", provider.ErrUnknown) }, launching, nil,
			time.Second, "has not confirmed the machine, errors in a row: 1"},
		{"gives an order up that was not answered for as long as a machine may take", launching, func(s *scene) {
			s.claim.Status.Errors, s.now = 7, s.now.Add(2*time.Minute)
			s.answer("look", provider.ErrUnknown)
		}, releasing, []string{"event Unanswered"}, 10 * time.Second, "has not confirmed that machine"},
		{"goes on with the order when the provider answers after all", launching, func(s *scene) {
			s.claim.Status.Errors, s.now = 7, s.now.Add(2*time.Minute)
			s.answer("look", provider.ErrNotFound)
		}, launching, []string{"create std-000 attempt 1"}, 0, ""},
		{"takes not found for no answer to an order", launching, func(s *scene) { s.answer("create", provider.ErrNotFound) },
			launching, nil, time.Second, "has not confirmed"},
		{"looks before it asks again", launching, func(s *scene) { s.claim.Status.Errors = 2 }, launching,
			[]string{"look for the machine"}, 0, ""},
		{"asks again when there is none", launching, func(s *scene) { s.claim.Status.Errors = 2; s.absent() }, launching,
			[]string{"create std-000 attempt 1"}, 0, ""},
		{"adopts the machine of a lost answer", launching, func(s *scene) { s.claim.Status.Errors = 2; s.machine(provider.StateCreating) },
			launching, []string{"event Launched"}, time.Second, "making machine vm-1"},
		{"does not touch the machine of another claim", launching, func(s *scene) {
			s.machine(provider.StateCreating)
			s.seen.Machine.Machine.ClaimUID = "another"
		}, launching, []string{"create std-000 attempt 1"}, 0, ""},
		{"does not believe an answer about another claim", launching, func(s *scene) {
			s.answer("create", nil)
			s.seen.Outcome.Machine.ClaimUID = "another"
		}, launching, nil, time.Second, "answered with a machine of claim UID"},
		{"gives back what another attempt left", launching, func(s *scene) {
			s.claim.Status.Attempts = 2
			s.machine(provider.StateRunning)
			s.seen.Asked = time.Time{}
		}, launching, []string{"delete machine vm-1"}, 2 * time.Second, "has to go before attempt 2"},
		{"waits for the end of the back-off", launching, func(s *scene) { s.claim.Status.NextAttempt = ago(s.now, -7*time.Second) },
			launching, nil, 7 * time.Second, ""},
		{"looks for the machine when it is deleted, and not too early", launching, (*scene).deleted, releasing, nil,
			10 * time.Second, ""},
		{"tries again when the machine failed", launching, func(s *scene) { s.machine(provider.StateFailed) }, releasing,
			[]string{"event Launched", "event MachineFailed"}, 2 * time.Second, "takes machine vm-1 back"},
	})
}

func TestJoiningAndStarting(t *testing.T) {
	runRows(t, []row{
		{"waits for the node", joining, nil, joining, nil, 15 * time.Second, "waiting for its node"},
		{"takes the node and marks it", joining, func(s *scene) { s.node(); s.seen.Node.Annotations = nil }, starting,
			[]string{"event Registered", "update node n"}, 3 * time.Minute, "node n is being labelled"},
		{"looks at the machine from time to time", joining, func(s *scene) { s.seen.Asked = time.Time{} }, joining,
			[]string{"look for the machine"}, 15 * time.Second, ""},
		{"tries again when the machine vanished", joining, (*scene).absent, releasing, []string{"event MachineVanished"},
			2 * time.Second, "gone before its node was ready"},
		{"gives the machine back after the timeout", joining, func(s *scene) { s.now = s.now.Add(3 * time.Minute) }, releasing,
			[]string{"event RegistrationTimeout", "delete machine vm-1"}, 2 * time.Second, "takes machine vm-1 back"},
		{"keeps a machine until the last moment", joining, func(s *scene) { s.now = s.now.Add(3*time.Minute - 1); s.seen.Asked = s.now },
			joining, nil, time.Millisecond, ""},
		{"adopts a node that comes in the tick of the timeout", joining, func(s *scene) {
			s.now = s.now.Add(3 * time.Minute)
			s.node()
			s.seen.Node.Spec.Taints = nil
		}, isReady, []string{"event Registered", "event NodeReady"}, 0, "node n is ready"},
		{"goes when it is deleted", joining, (*scene).deleted, releasing, nil, 2 * time.Second, "takes machine vm-1 back"},
		{"has what the machine joined with taken away as soon as its node is there", starting, func(s *scene) {
			s.seeded()
			s.seen.Node.Status.Conditions = nil
			s.seen.Asked = time.Time{}
		}, starting, []string{"take away what std-000 joined with"}, 3 * time.Second, "is not ready"},
		{"does not keep its node from its pods meanwhile", starting, (*scene).seeded, isReady, []string{"event NodeReady", "update node n"},
			3 * time.Second, ""},
		{"becomes ready when nothing is missing", starting, nil, isReady, []string{"event NodeReady", "update node n"}, 0, "node n is ready"},
		{"waits for a node that is not ready", starting, func(s *scene) { setReady(s.seen.Node, false) }, starting, nil,
			15 * time.Second, "node n is not ready"},
		{"waits for startup taints", starting, func(s *scene) {
			s.seen.Node.Spec.Taints = append(s.seen.Node.Spec.Taints, s.claim.Spec.StartupTaints...)
		}, starting, nil, 3 * time.Minute, "startup taint cni:NoExecute"},
		{"waits for an extended resource", starting, func(s *scene) { s.claim.Spec.Resources["gpu"] = s.claim.Spec.Resources["cpu"] },
			starting, nil, 3 * time.Minute, "does not offer gpu yet"},
		{"does not wait for what the overhead takes", starting, func(s *scene) {
			s.claim.Spec.Resources["gpu"] = s.claim.Spec.Resources["cpu"]
			s.claim.Spec.Overhead["gpu"] = s.claim.Spec.Resources["cpu"]
		}, isReady, []string{"event NodeReady", "update node n"}, 0, ""},
		{"puts the starting taint back", starting, func(s *scene) {
			s.seen.Node.Spec.Taints = nil
			setReady(s.seen.Node, false)
		}, starting, []string{"update node n"}, 15 * time.Second, ""},
		{"gives up after the timeout", starting, func(s *scene) {
			s.now = s.now.Add(3 * time.Minute)
			setReady(s.seen.Node, false)
		}, releasing, []string{"event RegistrationTimeout", "update node n", "delete machine vm-1"}, 2 * time.Second, ""},
		{"waits for the node again when it went away", starting, (*scene).noNode, joining, nil, 15 * time.Second, ""},
		{"closes the node when it is deleted: a pod may be there", starting, (*scene).deleted, draining,
			[]string{"event Closing", "update node n"}, 2 * time.Second, "closing node n: Deleted"},
	})
}

func TestReadyAndDraining(t *testing.T) {
	runRows(t, []row{
		{"stays", isReady, nil, isReady, nil, 0, "node n is ready"},
		{"has what the machine joined with taken away, also after a restart", isReady, func(s *scene) { s.seeded(); s.unseen() }, isReady,
			[]string{"take away what std-000 joined with"}, 3 * time.Second, "node n is ready"},
		{"asks for that again until it is done", isReady, func(s *scene) { s.seeded(); s.answer("create", provider.ErrUnknown) }, isReady, nil,
			15 * time.Second, "node n is ready"},
		{"finishes what a crash left", isReady, func(s *scene) { s.node() }, isReady, []string{"update node n"}, 0, ""},
		{"says that the node is not ready, and looks", isReady, func(s *scene) { setReady(s.seen.Node, false); s.unseen() }, isReady,
			[]string{"look for the machine"}, 15 * time.Second, "node n is not ready"},
		{"is lost when the machine is proven gone", isReady, func(s *scene) { setReady(s.seen.Node, false); s.absent() }, releasing,
			[]string{"event MachineLost", "delete node n"}, 15 * time.Second, "deleting node n"},
		{"does nothing while node and provider disagree", isReady, (*scene).absent, isReady, nil, 0, "node n is ready"},
		{"is lost when the machine is gone and its node too", isReady, func(s *scene) { s.noNode(); s.absent() }, releasing,
			[]string{"event MachineLost", "event Released", "delete claim std-000", "remove finalizer of std-000"}, 0, ""},
		{"waits for a node that somebody deleted", isReady, func(s *scene) { s.noNode() }, isReady, nil, 15 * time.Second,
			"waiting for machine vm-1 to register it again"},
		{"gives up on a node that does not come back", isReady, func(s *scene) {
			s.noNode()
			s.condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "NodeGone")
			s.now = s.now.Add(5 * time.Minute)
			s.machine(provider.StateRunning)
		}, releasing, []string{"event NodeLost"}, 2 * time.Second, ""},
		{"keeps the machine while nobody confirms that it is there", isReady, func(s *scene) {
			s.noNode()
			s.unseen()
			s.condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "NodeGone")
			s.now = s.now.Add(time.Hour)
		}, isReady, []string{"look for the machine"}, 15 * time.Second, ""},
		{"marks a node that registered again", isReady, func(s *scene) { s.seen.Node.Annotations = nil }, starting,
			[]string{"update node n"}, 0, "being labelled"},
		{"closes the node when it is idle", isReady, func(s *scene) { s.claim.Spec.Release = &v1alpha1.Release{Reason: "Idle"} },
			draining, []string{"event Closing", "update node n"}, 2 * time.Second, "closing node n: Idle"},
		{"settles when the closed node is seen", draining, func(s *scene) {
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "Closing")
		}, draining, nil, 2 * time.Second, ""},
		{"does not look before it settled", draining, func(s *scene) {
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "Settling")
			s.claim.Status.NextAttempt = ago(s.now, -time.Second)
			s.seen.PodsFresh = true
		}, draining, nil, time.Second, ""},
		{"looks again uncached when it seems empty", draining, nil, draining, []string{"look at the pods of node n"}, 5 * time.Second, ""},
		{"does not look while pods wait that nobody has heard of", draining, func(s *scene) { s.seen.Unheard = true }, draining, nil,
			500 * time.Millisecond, "pods that came a moment ago are waited for"},
		{"looks all the same when it is deleted", draining, func(s *scene) { s.seen.Unheard = true; s.deleted() }, draining,
			[]string{"look at the pods of node n"}, 5 * time.Second, ""},
		{"does not go on a look from before such a pod came", draining, func(s *scene) { s.seen.Unheard, s.seen.PodsFresh = true, true }, draining,
			nil, 500 * time.Millisecond, ""},
		{"lets the machine go when that look found none", draining, func(s *scene) { s.seen.PodsFresh = true }, releasing, nil,
			2 * time.Second, "takes machine vm-1 back"},
		{"waits for pods and evicts none when idle", draining, func(s *scene) { s.pods(2); s.seen.PodsFresh = true }, draining, nil,
			5 * time.Second, "waiting for pods to leave: 2, one of them d/p0"},
		{"evicts when it is deleted, what does not go already", draining, func(s *scene) { s.pods(2); s.deleted() }, draining,
			[]string{"evict pod d/p0"}, 5 * time.Second, "waiting for pods"},
		{"evicts again only after a while", draining, func(s *scene) {
			s.pods(1)
			s.deleted()
			s.claim.Status.NextAttempt = ago(s.now, -3*time.Second)
		}, draining, nil, 3 * time.Second, "waiting for pods"},
		{"evicts when the release says so, the least important first and critical ones last", draining, func(s *scene) {
			s.drains(time.Minute)
			s.pods(1)
			s.seen.Pods = append(s.seen.Pods, lifecycle.PodOnNode{Namespace: "kube-system", Name: "dns", UID: "dns", Priority: 2e9},
				lifecycle.PodOnNode{Namespace: "a", Name: "cheap", UID: "cheap", Priority: -1})
		}, draining, []string{"evict pod a/cheap, pod d/p0"}, 5 * time.Second, "waiting for pods to leave: 3, one of them d/p0"},
		{"evicts critical pods when the others are gone", draining, func(s *scene) {
			s.drains(time.Minute)
			s.seen.Pods = []lifecycle.PodOnNode{{Namespace: "kube-system", Name: "dns", UID: "dns", Priority: 2e9}}
		}, draining, []string{"evict pod kube-system/dns"}, 5 * time.Second, ""},
		{"waits with critical pods for others that are leaving", draining, func(s *scene) {
			s.drains(time.Minute)
			s.pods(1)
			s.seen.Pods[0].Terminating = true
			s.seen.Pods = append(s.seen.Pods, lifecycle.PodOnNode{Namespace: "kube-system", Name: "dns", UID: "dns", Priority: 2e9})
		}, draining, nil, 5 * time.Second, ""},
		{"says what the Eviction API said", draining, func(s *scene) {
			s.drains(time.Minute)
			s.pods(1)
			s.seen.Pods[0].Refused = "Cannot evict pod"
		}, draining, []string{"evict pod d/p0"}, 5 * time.Second, "one of them d/p0: Cannot evict pod"},
		{"does not give up a moment before the time is over", draining, func(s *scene) {
			s.drains(time.Millisecond)
			s.pods(1)
		}, draining, []string{"evict pod d/p0"}, time.Millisecond, ""},
		{"gives up when it is", draining, func(s *scene) { s.drains(0); s.pods(1); s.seen.Pods[0].Refused = "Cannot evict pod" }, draining,
			[]string{"event DrainBlocked", "withdraw the release of std-000"}, time.Second,
			"pods did not leave within 15m0s: 1, one of them d/p0: Cannot evict pod; not again before 2026-11-21T09:"},
		{"withdraws again what was not withdrawn", draining, func(s *scene) {
			s.drains(0)
			s.pods(1)
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "DrainBlocked")
		}, draining, []string{"withdraw the release of std-000"}, time.Second, ""},
		{"opens when that is done, and keeps the reason", draining, func(s *scene) {
			s.claim.Spec.Release = nil
			s.pods(1)
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "DrainBlocked")
		}, isReady, []string{"event Reopened", "update node n"}, 0, "node n is ready"},
		{"waits as long again for pods that are all leaving", draining, func(s *scene) {
			s.drains(0)
			s.pods(1)
			s.seen.Pods[0].Terminating = true
		}, draining, nil, 5 * time.Second, "waiting for pods"},
		{"gives up on them, too", draining, func(s *scene) {
			s.drains(-15 * time.Minute)
			s.pods(1)
			s.seen.Pods[0].Terminating = true
		}, draining, []string{"event DrainBlocked", "withdraw the release of std-000"}, time.Second, ""},
		{"deletes by force only then", draining, func(s *scene) {
			s.drains(0)
			s.claim.Spec.Release.Drain.Force = true
			s.pods(1)
		}, draining, []string{"delete pod d/p0"}, 5 * time.Second, ""},
		{"gives up force after as long again", draining, func(s *scene) {
			s.drains(-15 * time.Minute)
			s.claim.Spec.Release.Drain.Force = true
			s.pods(1)
		}, draining, []string{"event DrainBlocked", "withdraw the release of std-000"}, time.Second, ""},
		{"gives up at once for a pod that is to stay", draining, func(s *scene) {
			s.drains(time.Minute)
			s.claim.Spec.Release.Drain.Force = true
			s.pods(1)
			s.seen.Pods[0].Stay = "BarePod"
		}, draining, []string{"event DrainBlocked", "withdraw the release of std-000"}, time.Second, "pod d/p0 is not to be moved: BarePod"},
		{"goes on when somebody deletes the claim", draining, func(s *scene) {
			s.drains(0)
			s.pods(1)
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "DrainBlocked")
			s.deleted()
		}, draining, []string{"evict pod d/p0"}, 5 * time.Second, ""},
		{"waits for volumes when it is empty", draining, func(s *scene) { s.seen.PodsFresh = true; s.seen.Attached = []string{"pv-1", "pv-2"} },
			draining, nil, 2 * time.Second, "waiting for volumes to be detached: pv-1, pv-2"},
		{"waits for them for a while", draining, func(s *scene) {
			s.seen.PodsFresh, s.seen.Attached = true, []string{"pv-1"}
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "WaitingForVolumes")
			s.claim.Status.NextAttempt = ago(s.now, -time.Second)
		}, draining, nil, time.Second, ""},
		{"and no longer", draining, func(s *scene) {
			s.seen.PodsFresh, s.seen.Attached = true, []string{"pv-1"}
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "WaitingForVolumes")
			s.claim.Status.NextAttempt = ago(s.now, 0)
		}, releasing, nil, 2 * time.Second, "takes machine vm-1 back"},
		{"goes when they are detached, after another look", draining, func(s *scene) {
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "WaitingForVolumes")
			s.claim.Status.NextAttempt = ago(s.now, -time.Minute)
		}, draining, []string{"look at the pods of node n"}, 5 * time.Second, ""},
		{"evicts a pod that came while it waited for them", draining, func(s *scene) {
			s.drains(time.Minute)
			s.pods(1)
			s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, "WaitingForVolumes")
			s.claim.Status.NextAttempt = ago(s.now, -time.Minute)
		}, draining, []string{"evict pod d/p0"}, 5 * time.Second, ""},
		{"reopens when the release is withdrawn", draining, func(s *scene) { s.claim.Spec.Release = nil }, isReady,
			[]string{"event Reopened", "update node n"}, 0, "node n is ready"},
		{"reopens to starting when it never was ready", draining, func(s *scene) {
			s.claim.Spec.Release = nil
			s.claim.Status.ReadyAt = nil
			s.condition(v1alpha1.ConditionInitialized, metav1.ConditionFalse, "Waiting")
			setReady(s.seen.Node, false)
		}, starting, []string{"event Reopened", "update node n"}, 15 * time.Second, "not ready"},
		{"does not reopen when it is deleted", draining, func(s *scene) { s.claim.Spec.Release = nil; s.deleted() }, draining,
			[]string{"look at the pods of node n"}, 5 * time.Second, ""},
		{"closes the node again when somebody opened it", draining, func(s *scene) { s.seen.Node.Spec.Unschedulable = false }, draining,
			[]string{"update node n"}, 2 * time.Second, ""},
		{"is lost when the machine is gone", draining, func(s *scene) { setReady(s.seen.Node, false); s.absent(); s.pods(1) }, releasing,
			[]string{"event MachineLost", "delete node n"}, 15 * time.Second, ""},
	})
}

func TestReleasingAndFailed(t *testing.T) {
	runRows(t, []row{
		{"gives the machine back", releasing, func(s *scene) { s.seen.Asked = time.Time{} }, releasing, []string{"delete machine vm-1"},
			2 * time.Second, "takes machine vm-1 back"},
		{"gives back what it remembers, after a restart", releasing, (*scene).unseen, releasing, []string{"delete machine vm-1"},
			2 * time.Second, "takes machine vm-1 back"},
		{"takes no look for proof that a token is gone too", releasing, func(s *scene) { s.seeded(); s.absent(); s.seen.Asked = time.Time{} },
			releasing, []string{"delete machine vm-1"}, 2 * time.Second, ""},
		{"nor after errors", releasing, func(s *scene) {
			s.seeded()
			s.absent()
			s.claim.Status.Errors, s.seen.Asked = 3, time.Time{}
		}, releasing, []string{"delete machine vm-1"}, 2 * time.Second, ""},
		{"believes the deletion", releasing, func(s *scene) { s.seeded(); s.noNode(); s.answer("delete", provider.ErrNotFound) }, releasing,
			[]string{"event Released", "delete claim std-000", "remove finalizer of std-000"}, 0, "the machine is gone"},
		{"waits between two deletions", releasing, nil, releasing, nil, 2 * time.Second, "takes machine vm-1 back"},
		{"asks again when the answer is unknown", releasing, func(s *scene) { s.answer("delete", provider.ErrUnknown) }, releasing, nil,
			time.Second, "has not confirmed that machine vm-1 is gone, errors in a row: 1"},
		{"looks before it deletes again", releasing, func(s *scene) { s.unseen(); s.claim.Status.Errors = 1 }, releasing,
			[]string{"look for the machine"}, 2 * time.Second, ""},
		{"deletes the node when the machine is proven gone", releasing, func(s *scene) { s.answer("delete", provider.ErrNotFound) },
			releasing, []string{"delete node n"}, 15 * time.Second, "deleting node n"},
		{"lets the claim go when nothing is left", releasing, func(s *scene) { s.absent(); s.noNode() }, releasing,
			[]string{"event Released", "delete claim std-000", "remove finalizer of std-000"}, 0, "the machine is gone"},
		{"goes on after a crash at the very end", releasing, func(s *scene) {
			s.deleted()
			s.condition(v1alpha1.ConditionReleased, metav1.ConditionTrue, "Released")
			s.claim.Status.Message = "the machine is gone"
		}, releasing, []string{"remove finalizer of std-000"}, 0, "the machine is gone"},
		{"does not take an old look for proof", releasing, func(s *scene) {
			s.absent()
			s.seen.Machine.At = s.claim.Status.LaunchedAt.Add(-time.Second)
			s.seen.Asked = time.Time{}
		}, releasing, []string{"delete machine vm-1"}, 2 * time.Second, ""},
		{"waits for the node of a machine that never joined", releasing, func(s *scene) { timedOut(s, 1); s.absent() }, releasing, nil,
			2 * time.Second, ""},
		{"keeps pods off the node of a late joiner while its machine goes", releasing, func(s *scene) {
			timedOut(s, 1)
			s.machine(provider.StateDeleting)
			s.node()
		}, releasing, []string{"update node n"}, 2 * time.Second, "takes machine vm-1 back"},
		{"leaves a node alone that has only the name", releasing, func(s *scene) {
			timedOut(s, 1)
			s.machine(provider.StateDeleting)
			s.node()
			s.seen.NodeBy = identity.ByName
		}, releasing, nil, 2 * time.Second, ""},
		{"deletes the node of a late joiner", releasing, func(s *scene) { timedOut(s, 1); s.absent(); s.node() }, releasing,
			[]string{"delete node n"}, 2 * time.Second, "deleting node n"},
		{"does not delete a node that has only the name", releasing, func(s *scene) {
			timedOut(s, 1)
			s.absent()
			s.node()
			s.seen.NodeBy = identity.ByName
		}, releasing, nil, 2 * time.Second, ""},
		{"begins the next attempt after a back-off", releasing, func(s *scene) { timedOut(s, 1); s.absent(); settled(s) }, launching, nil,
			30 * time.Second, "attempt 2 of 3"},
		{"backs off longer after the second", releasing, func(s *scene) { timedOut(s, 2); s.absent(); settled(s) }, launching, nil,
			time.Minute, "attempt 3 of 3"},
		{"gives up after the last", releasing, func(s *scene) { timedOut(s, 3); s.absent(); settled(s) }, failed,
			[]string{"event RegistrationTimeout"}, 10 * time.Minute, "gave up after 3 attempts"},
		{"frees its pods when the machine does not go", releasing, func(s *scene) { stays(s, 1); s.seen.Asked = s.now }, releasing,
			[]string{"event MachineStays"}, 2 * time.Second, "takes machine vm-1 back"},
		{"keeps its failure when the last does not go", releasing, func(s *scene) { stays(s, 3); s.seen.Asked = s.now }, releasing, nil,
			2 * time.Second, "takes machine vm-1 back"},
		{"does not try again when it is deleted", releasing, func(s *scene) { timedOut(s, 1); s.absent(); settled(s); s.deleted() },
			releasing, []string{"event Released", "remove finalizer of std-000"}, 0, ""},
		{"keeps its reason", failed, nil, failed, nil, time.Minute, "no room for shape m"},
		{"looks once more before it goes", failed, func(s *scene) { s.now = s.now.Add(time.Minute) }, releasing,
			[]string{"look for the machine"}, 2 * time.Second, "no room for shape m"},
		{"waits before that look when it is deleted early", failed, (*scene).deleted, releasing, nil, 10 * time.Second, ""},
		{"gives back a machine that it turns out to have", failed, func(s *scene) { s.machine(provider.StateRunning); s.seen.Asked = time.Time{} },
			releasing, []string{"event MachineLeftOver", "delete machine vm-1"}, 2 * time.Second, ""},
	})
}

// timedOut is a claim whose machine of this attempt never joined.
func timedOut(s *scene, attempt int32) {
	s.claim.Spec.Release = nil
	s.claim.Status.Attempts, s.claim.Status.NodeName = attempt, ""
	s.condition(v1alpha1.ConditionReleased, metav1.ConditionFalse, "RegistrationTimeout")
	s.conditionSince(v1alpha1.ConditionLaunched, metav1.ConditionFalse, "RegistrationTimeout", 30*time.Second)
	s.noNode()
}

// stays is one whose machine was to go a minute ago.
func stays(s *scene, attempt int32) {
	timedOut(s, attempt)
	s.now = s.now.Add(30 * time.Second)
	s.machine(provider.StateRunning)
}

func TestAMachineThatDoesNotGoIsWaitedForForAMinute(t *testing.T) {
	s := in(releasing)
	stays(s, 1)
	s.now = s.now.Add(-time.Nanosecond)
	before := lifecycle.Step(s.claim, s.seen, s.now)
	require.True(t, capacity.Relaunches(before.Claim))
	require.LessOrEqual(t, before.Next, 2*time.Second)
	s.now = s.now.Add(time.Nanosecond)
	after := lifecycle.Step(s.claim, s.seen, s.now)
	require.False(t, capacity.Relaunches(after.Claim), "its pods are free for other machines")
	require.False(t, capacity.InFlight(after.Claim))
	require.True(t, capacity.Closed(after.Claim))

	s.claim = after.Claim
	s.absent()
	settled(s)
	s.now = s.now.Add(5 * time.Second)
	require.Contains(t, effects(lifecycle.Step(s.claim, s.seen, s.now)), "delete claim std-000", "no second machine for the same pods")
}

func TestAnOrderHasItsOwnTime(t *testing.T) {
	s := in(releasing)
	timedOut(s, 1)
	s.absent()
	settled(s)
	again := lifecycle.Step(s.claim, s.seen, s.now).Claim
	require.Equal(t, launching, again.Status.State)
	ordered := meta.FindStatusCondition(again.Status.Conditions, v1alpha1.ConditionLaunched)
	require.Equal(t, s.now, ordered.LastTransitionTime.Time)
}

// settled is a claim whose machine was proven gone a while ago.
func settled(s *scene) { s.condition(v1alpha1.ConditionLaunched, metav1.ConditionFalse, "MachineGone") }

func TestAnUnlistedStateIsAnErrorAndChangesNothing(t *testing.T) {
	s := in(isReady)
	s.claim.Status.State = "Paused"
	r := lifecycle.Step(s.claim, s.seen, s.now)
	require.ErrorIs(t, r.Err, lifecycle.ErrState)
	require.ErrorContains(t, r.Err, "Paused")
	require.Empty(t, r.Effects)
	require.Equal(t, s.claim, r.Claim)
}

func TestTheBackOffGrowsToAMinuteAndDiffersByClaim(t *testing.T) {
	s := in(launching)
	s.claim.Spec.RegistrationTimeout.Duration = 0 // it would give up first
	var waits []time.Duration
	for range 12 {
		s.answer("create", provider.ErrUnknown)
		r := lifecycle.Step(s.claim, s.seen, s.now)
		require.Equal(t, launching, r.Claim.Status.State)
		waits = append(waits, r.Next)
		s.claim, s.now = r.Claim, s.now.Add(r.Next)
	}
	for i, w := range waits {
		full := min(time.Second<<i, time.Minute)
		require.LessOrEqual(t, w, full)
		require.GreaterOrEqual(t, w, max(full*3/4-time.Millisecond, time.Second))
	}
	other := in(launching)
	other.claim.UID = "another"
	other.claim.Status.Errors, s.claim.Status.Errors = 9, 9
	s.claim.Status.NextAttempt, s.now = nil, other.now
	other.answer("create", provider.ErrUnknown)
	s.answer("create", provider.ErrUnknown)
	require.NotEqual(t, lifecycle.Step(other.claim, other.seen, other.now).Next, lifecycle.Step(s.claim, s.seen, s.now).Next)
}
