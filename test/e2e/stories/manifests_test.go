package stories

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestShippedManifestsAreAcceptedByARealAPIServer: validation, admission and the CRDs' own rules, without a warning.
func TestShippedManifestsAreAcceptedByARealAPIServer(t *testing.T) {
	for _, folder := range []string{"base", "place", "guard", "shadow", "shadow-called", "samples", "samples/guard"} {
		t.Run(folder, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			out, err := kit.Plane.Kubectl(ctx, "apply", "--dry-run=server", "--warnings-as-errors",
				"-k", filepath.Join(kit.Plane.Tree.Root, "deploy", folder))
			require.NoError(t, err)
			require.Contains(t, out, "(server dry run)")
			t.Log(out)
		})
	}
}
