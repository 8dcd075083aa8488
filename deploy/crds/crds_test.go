package crds_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/deploy/crds"
)

// What `kubectl create` of the file would be answered: structure, defaults, and every CEL rule compiled with its cost
// estimated against the API server's budget.
func TestTheAPIServerWouldTakeEveryDefinition(t *testing.T) {
	names, err := fs.Glob(crds.Files, "*.yaml")
	require.NoError(t, err)
	require.Len(t, names, 4)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			crd := internal(t, name)
			require.Empty(t, validation.ValidateCustomResourceDefinition(context.Background(), crd))
			require.Equal(t, apiextensions.ClusterScoped, crd.Spec.Scope)
			require.Equal(t, []string{"muster"}, crd.Spec.Names.Categories)
			require.Len(t, crd.Spec.Names.ShortNames, 1)
			require.NotNil(t, crd.Spec.Subresources.Status)
			require.NotEmpty(t, crd.Spec.AdditionalPrinterColumns)
		})
	}
}

func internal(t *testing.T, name string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	text, err := crds.Files.ReadFile(name)
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(text, &crd))
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	var out apiextensions.CustomResourceDefinition
	require.NoError(t, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, &out, nil))
	out.Status.StoredVersions = []string{"v1alpha1"}
	return &out
}
