package control

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/reaper"
)

// Definitions reads CustomResourceDefinitions past every cache.
type Definitions interface {
	// DefinitionStands returns nil when the definition of this name is there and is not being deleted. Any other answer, and
	// none, is an error: its text is told to people.
	DefinitionStands(ctx context.Context, name string) error
}

// held says why a claim that is being deleted keeps its machine: its definition is being deleted, or may be. The claim's
// deletion was seen before the definition is read, and the API server deletes objects after their definition.
func (r *Claims) held(ctx context.Context, claim *v1alpha1.NodeClaim) string {
	if r.Definitions == nil || claim.DeletionTimestamp == nil {
		return ""
	}
	if err := r.Definitions.DefinitionStands(ctx, v1alpha1.ClaimDefinition); err != nil {
		return err.Error()
	}
	return ""
}

// poolHeldAgain is how soon pools whose deletion is held are looked at again.
const poolHeldAgain = 30 * time.Second

// hold leaves out of a decision the releases that are asked for because a pool is being deleted, where it is, or may be, only
// because its definition is. What the pools' conditions say of their claims says so.
func (r *Reaper) hold(ctx context.Context, d reaper.Decision) reaper.Decision {
	deleted := func(release reaper.Release) bool { return release.Reason == reaper.PoolDeleted }
	if r.Definitions == nil || !slices.ContainsFunc(d.Release, deleted) && !slices.ContainsFunc(d.Cancel, deleted) {
		return d
	}
	err := r.Definitions.DefinitionStands(ctx, v1alpha1.PoolDefinition)
	if err == nil {
		return d
	}
	d.Details = maps.Clone(d.Details)
	if d.Details == nil {
		d.Details = map[string]string{}
	}
	for _, release := range slices.Concat(d.Release, d.Cancel) {
		if deleted(release) {
			d.Details[release.Claim.Name] = "kept: " + err.Error()
		}
	}
	d.Release = slices.DeleteFunc(slices.Clone(d.Release), deleted)
	d.Cancel = slices.DeleteFunc(slices.Clone(d.Cancel), deleted)
	d.Next = shortest(d.Next, poolHeldAgain)
	r.Log.Warn("pools are being deleted with their definition: their nodes are kept", "error", err)
	return d
}
