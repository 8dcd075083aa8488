package control_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
)

// follow has the view follow the freeze, as its loop does.
func (d *desk) follow() *control.Freezes {
	return &control.Freezes{Live: d.live, Kube: d.kube, Log: slog.New(slog.DiscardHandler)}
}

func TestNothingIsOrderedFromAFrozenPoolUntilItThaws(t *testing.T) {
	d := newDesk()
	d.kube.freeze = map[string]string{"provisioning": "p", "by": "alice", "reason": "inventory"}
	d.unschedulable("a", "3")
	now := start
	for range 20 {
		now = now.Add(500 * time.Millisecond)
		d.tick(now)
		d.teller.Tick(context.Background(), now)
	}
	require.Empty(t, d.kube.claims)
	require.Equal(t, []string{"a False PoolFrozen"}, d.kube.conditions)
	require.Equal(t, 1, d.kube.freezeReads, "once, when a machine was about to be ordered; then the view knows")
	frozen := meta.FindStatusCondition(d.kube.pools["p"].Status.Conditions, v1alpha1.ConditionFrozen)
	require.Equal(t, metav1.ConditionTrue, frozen.Status)
	require.Equal(t, v1alpha1.ReasonProvisioningFrozen, frozen.Reason)
	require.Equal(t, "provisioning is frozen by alice: inventory", frozen.Message)
	require.Contains(t, d.kube.events, "NodePool p ProvisioningFrozen")

	d.live.SetPool(d.kube.pools["p"]) // the watch
	d.kube.freeze = nil
	d.follow().Tick(context.Background(), now)
	d.tick(now.Add(time.Second))
	require.Len(t, d.kube.claims, 1, "the pod is planned for again without anything else happening")
	require.Equal(t, v1alpha1.ReasonNotFrozen, meta.FindStatusCondition(d.kube.pools["p"].Status.Conditions, v1alpha1.ConditionFrozen).Reason)
	require.Contains(t, d.kube.events, "NodePool p NotFrozen")
}

func TestNothingIsOrderedWhileTheFreezeCannotBeRead(t *testing.T) {
	d := newDesk()
	d.kube.unread = errors.New("connection refused")
	d.unschedulable("a", "3")
	now := start
	for range 20 {
		now = now.Add(500 * time.Millisecond)
		d.tick(now)
	}
	require.Empty(t, d.kube.claims)
	require.Greater(t, d.kube.freezeReads, 5, "it is asked again")
	require.Equal(t, v1alpha1.ReasonNotFrozen, meta.FindStatusCondition(d.kube.pools["p"].Status.Conditions, v1alpha1.ConditionFrozen).Reason,
		"an answer that is late is not told as a freeze yet")

	d.kube.unread = nil
	d.tick(now.Add(time.Second))
	require.Len(t, d.kube.claims, 1)
}

// A freeze that was read a moment ago says nothing about now: what is frozen is read once more before a machine is ordered.
func TestAThawIsReadBeforeTheMachineIsOrdered(t *testing.T) {
	d := newDesk()
	d.live.SetFreeze(gate.ParseFreeze(map[string]string{"releases": "p"}))
	d.kube.freeze = map[string]string{"provisioning": "other"}
	d.unschedulable("a", "3")
	d.tick(start.Add(time.Second))
	require.Len(t, d.kube.claims, 1)
	require.True(t, d.live.View().Freeze.Equal(gate.ParseFreeze(d.kube.freeze)))
}

func TestPlansThatOrderNothingReadNoFreeze(t *testing.T) {
	d := newDesk()
	d.unschedulable("a", "30")
	for i := range 20 {
		d.tick(start.Add(time.Duration(i) * time.Second))
	}
	require.Zero(t, d.kube.freezeReads)
}

func TestTheViewKeepsTheLastFreezeForAWhileAndThenSaysThatItIsNotKnown(t *testing.T) {
	d := newDesk()
	f := d.follow()
	ctx, now := context.Background(), start
	d.kube.freeze = map[string]string{"releases": "p"}
	f.Tick(ctx, now)
	read := d.live.View().Freeze
	require.True(t, read.Equal(gate.ParseFreeze(d.kube.freeze)))

	d.kube.unread = errors.New("connection refused")
	f.Tick(ctx, now.Add(10*time.Second-1))
	require.True(t, d.live.View().Freeze.Equal(read))
	f.Tick(ctx, now.Add(10*time.Second))
	require.Contains(t, d.live.View().Freeze.Unread(), "connection refused")

	d.kube.unread, d.kube.freeze = nil, nil
	f.Tick(ctx, now.Add(12*time.Second))
	require.False(t, d.live.View().Freeze.Any())
}

func TestAFreezeThatWasNeverReadIsNotKnown(t *testing.T) {
	d := newDesk()
	d.kube.unread = errors.New("forbidden")
	d.follow().Tick(context.Background(), start)
	require.Contains(t, d.live.View().Freeze.Unread(), "forbidden")

	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	e := newDesk()
	e.kube.unread = context.Canceled
	e.follow().Tick(canceled, start)
	require.Empty(t, e.live.View().Freeze.Unread(), "a process that ends knows nothing of the API server")
}

func TestNoNodeOfAFrozenPoolIsReleased(t *testing.T) {
	for name, set := range map[string]func(*rest){
		"its releases are frozen":          func(r *rest) { r.freeze = map[string]string{"releases": "p"} },
		"all releases are frozen":          func(r *rest) { r.freeze = map[string]string{"releases": "*", "provisioning": "*"} },
		"the freeze cannot be understood":  func(r *rest) { r.freeze = map[string]string{"releases": "true"} },
		"the API server cannot be reached": func(r *rest) { r.unread = errors.New("connection refused") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRest(t, start)
			set(r)
			now := start
			for range 10 {
				next := r.reaper.Tick(t.Context(), now)
				require.LessOrEqual(t, next, time.Hour)
				now = now.Add(time.Second)
			}
			require.Nil(t, r.claims["p-000"].Spec.Release)
			require.Positive(t, r.freezeReads)
			require.True(t, r.places(t, 1, now), "the node is open")
		})
	}
}

func TestANodeIsReleasedOnceThePoolThaws(t *testing.T) {
	r := newRest(t, start)
	r.freeze = map[string]string{"releases": "*"}
	r.reaper.Tick(t.Context(), start)
	require.Nil(t, r.claims["p-000"].Spec.Release)
	r.freeze = nil
	(&control.Freezes{Live: r.live, Kube: r, Log: slog.New(slog.DiscardHandler)}).Tick(t.Context(), start.Add(time.Second))
	r.reaper.Tick(t.Context(), start.Add(time.Second))
	require.NotNil(t, r.claims["p-000"].Spec.Release)
}

// Undoing goes on: a release that was begun is taken back for a pod that waits.
func TestAReleaseIsTakenBackWhileEverythingIsFrozen(t *testing.T) {
	r := newRest(t, start)
	r.reaper.Tick(t.Context(), start)
	require.NotNil(t, r.claims["p-000"].Spec.Release)
	r.unread = errors.New("connection refused")
	r.live.SetFreeze(gate.FreezeUnknown(r.unread))
	r.wait(start)
	r.reaper.Tick(t.Context(), start)
	require.Nil(t, r.claims["p-000"].Spec.Release)
}

func TestNoMachineOfAFrozenPoolIsRestartedOrReplaced(t *testing.T) {
	for name, set := range map[string]func(*house){
		"its releases are frozen":          func(h *house) { h.freeze = map[string]string{"releases": "p"} },
		"the API server cannot be reached": func(h *house) { h.unread = errors.New("connection refused") },
	} {
		t.Run(name, func(t *testing.T) {
			h := ward(t)
			set(h)
			h.runs(time.Hour)
			require.Nil(t, h.live.Claim("p-000").Spec.Restart)
			require.Zero(t, h.restarts+h.replaced)
			h.freeze, h.unread = nil, nil
			h.runs(time.Minute)
			require.Equal(t, 1, h.restarts)
		})
	}
}

func TestThePoolSaysWhatIsFrozenAndWhatIsBeyondRecall(t *testing.T) {
	for name, c := range map[string]struct {
		data      map[string]string
		releasing int
		reason    string
		message   string
	}{
		"nothing":      {nil, 1, v1alpha1.ReasonNotFrozen, ""},
		"another pool": {map[string]string{"releases": "other"}, 1, v1alpha1.ReasonNotFrozen, ""},
		"releases": {map[string]string{"releases": "p", "by": "alice"}, 0, v1alpha1.ReasonReleasesFrozen,
			"releases are frozen by alice"},
		"releases, while a machine is being deleted": {map[string]string{"releases": "*", "reason": "fire"}, 1, v1alpha1.ReasonReleasesFrozen,
			"releases are frozen: fire; 1 machine is already being deleted: p-000 (machine m0)"},
		"both, while many are": {map[string]string{"releases": "*", "provisioning": "p"}, 7, v1alpha1.ReasonAllFrozen,
			"releases and provisioning are frozen; 7 machines are already being deleted: p-000 (machine m0), p-001 (machine m1), " +
				"p-002 (machine m2), p-003 (machine m3), p-004 (machine m4) and 2 more"},
		"provisioning": {map[string]string{"provisioning": "p", "since": "2026-03-01T08:00:00Z"}, 1, v1alpha1.ReasonProvisioningFrozen,
			"provisioning is frozen since 2026-03-01T08:00:00Z"},
		"what cannot be understood": {map[string]string{"provisioning": "on"}, 0, v1alpha1.ReasonFreezeUnknown,
			`releases and provisioning count as frozen: ConfigMap muster-freeze cannot be understood: data.provisioning "on": ` +
				"use *, or names of pools separated by commas; delete the key where nothing is frozen"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			for i := range c.releasing {
				claim := capacity.SlotName("p", i)
				d.live.SetClaim(&v1alpha1.NodeClaim{
					ObjectMeta: metav1.ObjectMeta{Name: claim, UID: types.UID(claim), ResourceVersion: "1"},
					Spec:       v1alpha1.NodeClaimSpec{Pool: "p", Provider: "sim", Shape: "s", Resources: resources("4", "8Gi")},
					Status:     v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReleasing, MachineID: fmt.Sprint("m", i)},
				})
			}
			d.kube.freeze = c.data
			d.follow().Tick(context.Background(), start)
			d.tick(start.Add(5 * time.Second))
			got := meta.FindStatusCondition(d.kube.pools["p"].Status.Conditions, v1alpha1.ConditionFrozen)
			require.Equal(t, c.reason, got.Reason)
			require.Equal(t, c.message, got.Message)
			require.Equal(t, c.reason == v1alpha1.ReasonNotFrozen, got.Status == metav1.ConditionFalse)
			releases, provisioning := d.kube.pools["p"].Status.Frozen()
			freeze := gate.ParseFreeze(c.data)
			want, _ := freeze.Releases("p")
			require.Equal(t, want, releases)
			want, _ = freeze.Provisioning("p")
			require.Equal(t, want, provisioning)
		})
	}
}

// A freeze reaches a drain that has begun: no eviction is asked for while it lasts, and the drain is undone at its deadline all the same.
func TestNoPodIsEvictedWhileReleasesAreFrozen(t *testing.T) {
	for name, set := range map[string]func(*drained){
		"its pool's releases are frozen":   func(d *drained) { d.freeze = map[string]string{"releases": "p", "by": "alice"} },
		"the freeze cannot be understood":  func(d *drained) { d.freeze = map[string]string{"release": "p"} },
		"the API server cannot be reached": func(d *drained) { d.unread = errors.New("connection refused") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrained(t, start)
			c := d.rest.claims["p-000"].DeepCopy()
			c.Spec.Release = &v1alpha1.Release{Reason: "Underused", Since: metav1.NewMicroTime(d.now), Drain: &v1alpha1.Drain{
				Timeout: metav1.Duration{Duration: 5 * time.Minute},
			}}
			d.live.SetClaim(d.store(c))
			d.reconcile(t, 10*time.Second)
			require.Equal(t, v1alpha1.ClaimDraining, d.rest.claims["p-000"].Status.State)
			require.Positive(t, d.evicts)

			set(d)
			frozen := d.evicts
			d.reconcile(t, time.Minute)
			require.Equal(t, frozen, d.evicts)
			require.Equal(t, v1alpha1.ClaimDraining, d.rest.claims["p-000"].Status.State)
			require.True(t, d.node.Spec.Unschedulable)

			before := d.freeze
			d.freeze, d.unread = nil, nil
			d.reconcile(t, 30*time.Second)
			require.Greater(t, d.evicts, frozen, "it goes on where it was")

			d.freeze = before
			if before == nil {
				d.unread = errors.New("connection refused")
			}
			thawed := d.evicts
			d.reconcile(t, 10*time.Minute)
			require.Equal(t, thawed, d.evicts)
			require.Equal(t, v1alpha1.ClaimReady, d.rest.claims["p-000"].Status.State)
			require.False(t, d.node.Spec.Unschedulable, "undoing goes on")
		})
	}
}

func TestAPoolThatIsNotFrozenIsDrained(t *testing.T) {
	d := newDrained(t, start)
	d.freeze = map[string]string{"releases": "other", "provisioning": "*"}
	c := d.rest.claims["p-000"].DeepCopy()
	c.Spec.Release = &v1alpha1.Release{Reason: "Underused", Since: metav1.NewMicroTime(d.now), Drain: &v1alpha1.Drain{
		Timeout: metav1.Duration{Duration: 5 * time.Minute},
	}}
	d.live.SetClaim(d.store(c))
	d.reconcile(t, time.Minute)
	require.Positive(t, d.evicts)
}

// A machine on its way to a pool that is being deleted is given back; not while releases are frozen.
func TestNoMachineOfAFrozenPoolThatIsDeletedIsGivenBack(t *testing.T) {
	r := newRest(t, start)
	c := r.claims["p-000"].DeepCopy()
	c.Status.State, c.Status.NodeName = v1alpha1.ClaimJoining, ""
	r.live.SetClaim(r.store(c))
	r.live.ForgetNode("p-000")
	p := r.live.View().Pools[0].DeepCopy()
	p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.PoolFinalizer}
	r.live.SetPool(p)
	r.freeze = map[string]string{"releases": "p"}
	r.reaper.Tick(t.Context(), start)
	require.Nil(t, r.claims["p-000"].Spec.Release)
	r.freeze = nil
	(&control.Freezes{Live: r.live, Kube: r, Log: slog.New(slog.DiscardHandler)}).Tick(t.Context(), start.Add(time.Second))
	r.reaper.Tick(t.Context(), start.Add(time.Second))
	require.NotNil(t, r.claims["p-000"].Spec.Release)
}
