package crds_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

func TestQuantitiesAreNarrow(t *testing.T) {
	crd := internal(t, "muster.sh_nodepools.yaml")
	limits := crd.Spec.Validation.OpenAPIV3Schema.Properties["spec"].Properties["limits"]
	quantity := limits.Properties["resources"].AdditionalProperties.Schema
	require.EqualValues(t, 32, *quantity.MaxLength)
	accepts := func(s string) bool { return regexp.MustCompile(quantity.Pattern).MatchString(s) }
	for _, s := range []string{"1", "0.5", ".5", "500m", "1.5Gi", "2E", "2e3", "2e-3", "+1", "-1", "9223372036854775807"} {
		require.True(t, accepts(s), s)
	}
	for _, s := range []string{"", "1e-1000", "1e1000000000", "1Gigs", "1 Gi", "m", "1e", "0x10"} {
		require.False(t, accepts(s), s)
	}
	eachQuantity(crd.Spec.Validation.OpenAPIV3Schema, func(s *apiextensions.JSONSchemaProps) {
		require.NotNil(t, s.MaxLength)
		require.Equal(t, quantity.Pattern, s.Pattern)
	})
}

// eachQuantity visits the schema of every quantity below s.
func eachQuantity(s *apiextensions.JSONSchemaProps, visit func(*apiextensions.JSONSchemaProps)) {
	if s == nil {
		return
	}
	if s.XIntOrString && s.Pattern != "" { // a count or a share has none
		visit(s)
	}
	for _, p := range s.Properties {
		eachQuantity(&p, visit)
	}
	if s.AdditionalProperties != nil {
		eachQuantity(s.AdditionalProperties.Schema, visit)
	}
	if s.Items != nil {
		eachQuantity(s.Items.Schema, visit)
	}
}
