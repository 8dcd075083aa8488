package control

import (
	"context"

	"github.com/muster-sh/muster/api/v1alpha1"
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
