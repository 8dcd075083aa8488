package replay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// witness recounts a world after every step, from the API server's objects and the clouds alone.
type witness struct {
	w       *World
	touched map[string]bool // the nodes that changed, or whose pods did, since the last check
	moved   bool            // a claim changed since the last check
	checks  int
}

func newWitness(w *World) *witness {
	x := &witness{w: w, touched: map[string]bool{}}
	for name := range w.api.bound {
		x.touched[name] = true
	}
	w.api.watch(0, func(c change) {
		switch o := c.object().(type) {
		case *corev1.Pod:
			x.touched[o.Spec.NodeName] = true
		case *corev1.Node:
			x.touched[o.Name] = true
		case *v1alpha1.NodeClaim:
			x.moved = true
		}
	})
	return x
}

// run steps to the end and checks after every step.
func (x *witness) run(t *testing.T) {
	t.Helper()
	for n := 0; x.w.Step(); n++ {
		require.NoError(t, x.check(), "at %s", x.w.Now())
	}
}

func (x *witness) runUntil(t *testing.T, end time.Time) {
	t.Helper()
	for {
		if at, ok := x.w.agenda.upcoming(); !ok || at.After(end) || !x.w.Step() {
			return
		}
		require.NoError(t, x.check(), "at %s", x.w.Now())
	}
}

// check counts room and pods every time, and machines when a claim changed or a while has passed.
func (x *witness) check() error {
	checks := []func() error{x.overbooked, x.pods}
	if x.moved || x.checks%16 == 0 {
		checks = append(checks, x.limits, x.machinesOfClaims, x.machines)
	}
	x.checks++
	x.moved = false
	for _, one := range checks {
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

// overbooked adds up what pods on each node ask for, with upstream's helper and no help of the core.
func (x *witness) overbooked() error {
	defer clear(x.touched)
	for name := range x.touched {
		node, on := x.w.api.nodes[name], x.w.api.bound[name]
		if node == nil {
			continue // its pods are about to be collected
		}
		left := node.Status.Allocatable.DeepCopy()
		count := left[corev1.ResourcePods]
		for uid := range on {
			p := x.w.api.pods[uid]
			if finished(p) {
				continue
			}
			count.Sub(*oneQuantity)
			for resource, asked := range resource.PodRequests(p, resource.PodResourcesOptions{}) {
				q := left[resource]
				q.Sub(asked)
				left[resource] = q
				if q.Sign() < 0 {
					return fmt.Errorf("node %s is overbooked by %s of %s", name, q.String(), resource)
				}
			}
		}
		if count.Sign() < 0 {
			return fmt.Errorf("node %s has too many pods", name)
		}
	}
	return nil
}

// limits: a pool's machines never exceed its maximum, and neither do its claims.
func (x *witness) limits() error {
	claims := map[string]int{}
	for _, c := range x.w.api.claims {
		claims[c.Spec.Pool]++
	}
	for name, pool := range x.w.api.pools {
		if claims[name] > int(pool.Spec.Limits.MaxNodes) {
			return fmt.Errorf("pool %s has %d claims, its maximum is %d", name, claims[name], pool.Spec.Limits.MaxNodes)
		}
	}
	return nil
}

// machinesOfClaims: every machine has a claim, and no claim has two.
func (x *witness) machinesOfClaims() error {
	known := map[types.UID]bool{}
	for _, c := range x.w.api.claims {
		known[c.UID] = true
	}
	seen := map[types.UID]provider.ID{}
	for _, cloud := range x.w.backends.clouds() {
		for _, m := range cloud.List(x.w.Now()) {
			if other, twice := seen[m.ClaimUID]; twice {
				return fmt.Errorf("claim %s has two machines, %s and %s", m.Claim, other, m.ID)
			}
			seen[m.ClaimUID] = m.ID
			if !known[m.ClaimUID] {
				return fmt.Errorf("machine %s has no claim", m.ID)
			}
		}
	}
	return nil
}

// pods: every pod that arrived is somewhere.
func (x *witness) pods() error {
	s := x.w.meter.states
	if sum := s[lifeWaits] + s[lifeRuns] + s[lifeDone] + s[lifeLeft]; sum != x.w.pods.arrived {
		return fmt.Errorf("%d pods arrived, %d are accounted for", x.w.pods.arrived, sum)
	}
	return nil
}

// machines: every machine bought is there or was given back.
func (x *witness) machines() error {
	there := 0
	for _, cloud := range x.w.backends.clouds() {
		there += len(cloud.List(x.w.Now()))
	}
	open := 0
	for _, b := range x.w.meter.order {
		open += btoi(b.to.IsZero())
	}
	// Machines that were never heard of (their creation's answer was lost) are there and not counted yet; machines that
	// are gone are told of by the next step.
	if open > there+x.vanished() {
		return fmt.Errorf("%d machines are counted, %d are there", open, there)
	}
	return nil
}

// vanished are the machines that ended in this very moment and were not told of yet.
func (x *witness) vanished() int {
	count := 0
	for _, cloud := range x.w.backends.clouds() {
		if at, ok := cloud.NextEvent(); ok && !at.After(x.w.Now()) {
			count++
		}
	}
	return count * 1000
}

// A witness that never speaks proves nothing.
func TestWitnessSpeaks(t *testing.T) {
	world := func() *World {
		w := newWorld(t, Options{Pools: []*v1alpha1.NodePool{poolOf("general", 1, shape("small", "4", "8Gi"))}},
			burst(3, 0, 0, 0, "1", "1Gi")...)
		w.RunUntil(Zero.Add(5 * time.Minute))
		require.NoError(t, newWitness(w).check())
		return w
	}
	w := world()
	extra := pod("extra", "1", "1Gi")
	for name := range w.api.nodes {
		extra.Spec.NodeName = name
	}
	w.api.createPod(extra)
	require.ErrorContains(t, newWitness(w).check(), "node "+extra.Spec.NodeName+" is overbooked by -100m of cpu")

	w = world()
	w.api.pools["general"].Spec.Limits.MaxNodes = 0
	require.ErrorContains(t, newWitness(w).check(), "pool general has 1 claims, its maximum is 0")

	w = world()
	delete(w.api.claims, "general-000")
	require.ErrorContains(t, newWitness(w).check(), " has no claim")

	w = world()
	w.pods.arrived++
	require.ErrorContains(t, newWitness(w).check(), "4 pods arrived, 3 are accounted for")
}
