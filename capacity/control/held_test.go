package control_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// definitions answers for the definition of claims.
type definitions struct {
	err   error
	asked []string
}

func (d *definitions) DefinitionStands(_ context.Context, name string) error {
	d.asked = append(d.asked, name)
	return d.err
}

func TestADeletedClaimIsDrainedOnlyWhereItsDefinitionStands(t *testing.T) {
	d := newDrained(t, time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	read := &definitions{err: errors.New("the API server does not answer")}
	d.claims.Definitions = read
	d.reconcile(t, 10*time.Second)
	require.Empty(t, read.asked, "only of a claim that is being deleted")

	c := d.rest.claims["p-000"].DeepCopy()
	c.DeletionTimestamp = &metav1.Time{Time: d.now}
	d.live.SetClaim(d.store(c))
	d.reconcile(t, 5*time.Minute)
	require.Equal(t, v1alpha1.ClaimReady, d.rest.claims["p-000"].Status.State)
	require.False(t, d.node.Spec.Unschedulable)
	require.Empty(t, d.node.Spec.Taints)
	require.Zero(t, d.evicts)
	require.Equal(t, v1alpha1.ClaimDefinition, read.asked[0])
	require.Contains(t, d.rest.claims["p-000"].Status.Message, "the API server does not answer")
	told := func() int {
		n := 0
		for _, e := range d.events {
			if strings.Contains(e, "DefinitionTerminating") {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, told(), "%v", d.events)

	read.err = nil
	d.reconcile(t, 10*time.Second)
	require.Equal(t, v1alpha1.ClaimDraining, d.rest.claims["p-000"].Status.State)
	require.True(t, d.node.Spec.Unschedulable)
	require.Positive(t, d.evicts)
	require.True(t, slices.ContainsFunc(d.events, func(e string) bool { return strings.Contains(e, "Closing") }), "%v", d.events)
}

// A pool that is deleted drains its nodes, unless it is deleted only because its definition is. The condition says so.
func TestAPoolThatIsDeletedWithItsDefinitionKeepsItsNodes(t *testing.T) {
	h := newEstate(t)
	read := &definitions{err: errors.New("CustomResourceDefinition nodepools.muster.sh is being deleted")}
	h.reaper.Definitions = read
	h.pool(2, v1alpha1.PoolFinalizer)
	launching := h.live.Claim("std-001").DeepCopy()
	launching.ResourceVersion, launching.Status = h.next(), v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimLaunching}
	h.live.SetClaim(launching)
	h.reaper.Tick(t.Context(), h.now)
	require.Empty(t, read.asked, "only of a pool that is being deleted")
	h.ends(nil)
	for i := range 3 {
		next := h.reaper.Tick(t.Context(), h.now.Add(time.Duration(i)*time.Minute))
		require.Positive(t, next)
		require.LessOrEqual(t, next, time.Minute)
	}
	for _, name := range []string{"std-000", "std-001"} {
		require.Nil(t, h.live.Claim(name).Spec.Release, name)
	}
	require.Equal(t, v1alpha1.PoolDefinition, read.asked[0])
	require.Contains(t, h.told(), "std-000: PoolDeleted (kept: CustomResourceDefinition nodepools.muster.sh is being deleted)")

	read.err = nil
	h.reaper.Tick(t.Context(), h.now.Add(3*time.Minute))
	require.Equal(t, "PoolDeleted", h.live.Claim("std-000").Spec.Release.Reason)
	require.Equal(t, "PoolDeleted", h.live.Claim("std-001").Spec.Release.Reason)
}
