package proxmox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/identity"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// actor is one claim and what its loop remembers.
type actor struct {
	claim   *v1alpha1.NodeClaim
	node    *corev1.Node
	sight   lifecycle.Sighting
	outcome *lifecycle.Outcome
	asked   time.Time
	fresh   bool
	proves  bool // it looks at the machine before it gives it back, as the gate does
}

func newActor(n int) *actor {
	req := request(n)
	return &actor{claim: &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: req.Claim, UID: req.ClaimUID, Generation: 1},
		Spec: v1alpha1.NodeClaimSpec{Pool: "std", Provider: "px", Shape: "m", Resources: req.Resources, MaxAttempts: 10,
			RegistrationTimeout: metav1.Duration{Duration: 30 * time.Minute}},
	}}
}

// step is one turn of the claim's loop. A killed process performs nothing of it and remembers nothing.
func (a *actor) step(t *testing.T, r *rig, p *proxmox.Provider, killed bool) {
	o := lifecycle.Observed{Machine: a.sight, Outcome: a.outcome, Asked: a.asked, PodsFresh: a.fresh}
	if a.node != nil {
		if c, how := identity.Match([]*v1alpha1.NodeClaim{a.claim}, a.node); c != nil {
			o.Node, o.NodeBy = a.node, how
		}
	}
	res := lifecycle.Step(a.claim, o, r.now())
	require.NoError(t, res.Err)
	if !reflect.DeepEqual(a.claim, res.Claim) { // through the API server, whose times keep less
		text, err := json.Marshal(res.Claim)
		require.NoError(t, err)
		a.claim = &v1alpha1.NodeClaim{}
		require.NoError(t, json.Unmarshal(text, a.claim))
	}
	a.outcome, a.fresh = nil, false
	if killed {
		a.sight, a.asked = lifecycle.Sighting{}, time.Time{}
		return
	}
	for _, e := range res.Effects {
		a.perform(t, r, p, e)
		if a.claim == nil {
			return
		}
	}
}

func (a *actor) perform(t *testing.T, r *rig, p *proxmox.Provider, e lifecycle.Effect) {
	answered := func(verb lifecycle.Verb, m provider.Machine, err error) {
		a.outcome = &lifecycle.Outcome{Verb: verb, Machine: m, Err: err, Began: r.now()}
		a.sight, a.asked = a.sight.After(*a.outcome), r.now()
	}
	switch e := e.(type) {
	case lifecycle.Create:
		m, err := p.Create(t.Context(), e.Request)
		answered(lifecycle.VerbCreate, m, err)
	case lifecycle.Look:
		m, err := p.Get(t.Context(), e.Machine)
		answered(lifecycle.VerbLook, m, err)
	case lifecycle.Delete:
		if a.proves {
			if _, err := p.Get(t.Context(), e.Machine); err != nil && !errors.Is(err, provider.ErrNotFound) {
				answered(lifecycle.VerbDelete, e.Machine, err)
				return
			}
		}
		answered(lifecycle.VerbDelete, e.Machine, p.Delete(t.Context(), e.Machine, gatetest.Judge(gate.Delete, e.Machine, r.now())))
	case lifecycle.LookPods:
		a.fresh = true
	case lifecycle.UpdateNode:
		a.node = e.New.DeepCopy()
	case lifecycle.DeleteNode:
		a.node = nil
	case lifecycle.DeleteClaim:
		a.claim.DeletionTimestamp = &metav1.Time{Time: r.now()}
	case lifecycle.RemoveFinalizer:
		a.claim = nil
	}
}

// kubelet registers the node of a VM that runs, as the cloud controller manager and the kubelet name it.
func (a *actor) kubelet(vms map[string]pvesim.VM) {
	if a.claim == nil || a.node != nil {
		return
	}
	vm, there := vms["uuid="+a.claim.Status.SystemUUID]
	if !there || !vm.Running {
		return
	}
	a.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: vm.Config["name"], UID: types.UID(vm.Config["smbios1"])},
		Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("proxmox://home/%d", vm.ID)},
		Status: corev1.NodeStatus{Allocatable: a.claim.Spec.Resources,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

var misfortunes = []pvesim.Fault{
	{Status: 595}, {Status: 596}, {Status: 596, Done: true}, {Status: 500, Message: "can't lock file 'x' - got timeout"},
	{Status: 500, Message: "something happened"}, {Status: 502}, {Method: "POST", Message: "it failed"}, {Method: "DELETE", Message: "it failed"},
	{Method: "POST", Status: 500, Message: "oops", Done: true}, {Method: "PUT", Status: 599, Done: true},
}

// Forty claims at once, over an API that fails at random, with Muster killed at random and a host that goes away: in the
// end there is one machine for each claim, and after that none; what is not ours is as it was.
func TestAnEveningOnProxmox(t *testing.T) {
	t.Parallel()
	for name, newRig := range map[string]func(*testing.T) *rig{"machines that join by themselves": newRig, "machines with an image each to join with": joinRig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			evening(t, newRig(t), rand.New(rand.NewPCG(1, 7)))
		})
	}
}

func evening(t *testing.T, r *rig, chance *rand.Rand) {
	const claims = 40
	r.viewAge = time.Second
	r.spec.MaxClonesPerHost, r.spec.Placement.Strategy = 6, v1alpha1.PlacementSpread
	_, untouched := r.foreign(pvesim.VM{ID: 1500, Host: "pve2", Running: true, Pool: pool, Config: map[string]string{"name": "db"}})()
	p := r.provider(t)
	actors := make([]*actor, claims)
	for n := range actors {
		actors[n] = newActor(n)
	}
	run := func(trouble bool, until func() bool) {
		r.cluster.Mend()
		for turn := 0; !until(); turn++ {
			require.Less(t, turn, 3000, "it does not come to an end")
			if trouble && chance.IntN(2) == 0 {
				r.cluster.Break(misfortunes[chance.IntN(len(misfortunes))])
			}
			if trouble && turn%97 == 30 {
				r.cluster.Online("pve3", false)
			}
			if turn%97 == 60 {
				r.cluster.Online("pve3", true)
			}
			killed := trouble && chance.IntN(25) == 0
			if killed {
				p = r.provider(t)
			}
			vms := map[string]pvesim.VM{}
			for _, vm := range r.cluster.VMs() {
				vms[vm.Config["smbios1"]] = vm
			}
			for _, a := range actors {
				a.kubelet(vms)
				if a.claim != nil {
					a.step(t, r, p, killed)
				}
			}
			r.advance(700 * time.Millisecond)
		}
	}
	made := claims
	ready := func() bool {
		all := true
		for n, a := range actors {
			if a.claim == nil || a.claim.Status.State == v1alpha1.ClaimFailed { // it gave up: the planner makes another one
				actors[n] = newActor(made)
				made++
			}
			all = all && actors[n].claim.Status.State == v1alpha1.ClaimReady
		}
		return all
	}
	turns := 0
	run(true, func() bool { turns++; return turns > 250 })
	run(false, ready)
	require.Equal(t, claims+1, r.count(), "one machine for each claim, and the foreign one")
	run(false, func() bool {
		for _, a := range actors {
			if a.claim.Status.Seeded {
				return false
			}
		}
		return true
	})
	r.requireClean(t)
	for _, a := range actors {
		a.claim.DeletionTimestamp = &metav1.Time{Time: r.now()}
	}
	turns = 0
	run(true, func() bool { turns++; return turns > 60 })
	run(false, func() bool {
		for _, a := range actors {
			if a.claim != nil {
				return false
			}
		}
		return true
	})
	require.Equal(t, 1, r.count(), "nothing is left but the foreign one")
	r.requireClean(t)
	require.True(t, untouched())
}
