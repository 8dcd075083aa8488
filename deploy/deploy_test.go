// Package deploy_test reads everything that deploy/ ships as strictly as the programs it is for.
package deploy_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/api/v1alpha1"
)

// types are the Go types of every kind that deploy/ ships, by API version and kind.
var types = map[string]func() any{
	"v1 Namespace":                  func() any { return &corev1.Namespace{} },
	"v1 ServiceAccount":             func() any { return &corev1.ServiceAccount{} },
	"v1 ConfigMap":                  func() any { return &corev1.ConfigMap{} },
	"v1 Secret":                     func() any { return &corev1.Secret{} },
	"v1 Service":                    func() any { return &corev1.Service{} },
	"apps/v1 Deployment":            func() any { return &appsv1.Deployment{} },
	"batch/v1 Job":                  func() any { return &batchv1.Job{} },
	"policy/v1 PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
	"muster.sh/v1alpha1 NodePool":   func() any { return &v1alpha1.NodePool{} },
	"muster.sh/v1alpha1 Provider":   func() any { return &v1alpha1.Provider{} },
	"muster.sh/v1alpha1 Host":       func() any { return &v1alpha1.Host{} },
	admissionv1.GroupName + "/v1 ValidatingAdmissionPolicy":        func() any { return &admissionv1.ValidatingAdmissionPolicy{} },
	admissionv1.GroupName + "/v1 ValidatingAdmissionPolicyBinding": func() any { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
	rbacv1.GroupName + "/v1 Role":                                  func() any { return &rbacv1.Role{} },
	rbacv1.GroupName + "/v1 RoleBinding":                           func() any { return &rbacv1.RoleBinding{} },
	rbacv1.GroupName + "/v1 ClusterRole":                           func() any { return &rbacv1.ClusterRole{} },
	rbacv1.GroupName + "/v1 ClusterRoleBinding":                    func() any { return &rbacv1.ClusterRoleBinding{} },
	"apiextensions.k8s.io/v1 CustomResourceDefinition":             func() any { return &apiextensionsv1.CustomResourceDefinition{} },
	"kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration":    func() any { return &schedulerv1.KubeSchedulerConfiguration{} },
	"kustomize.config.k8s.io/v1beta1 Kustomization":                func() any { return &kustomization{} },
	"kustomize.config.k8s.io/v1alpha1 Component":                   func() any { return &kustomization{} },
}

// kustomization is what our kustomizations use of that format.
type kustomization struct {
	metav1.TypeMeta
	Resources          []string          `json:"resources"`
	CommonAnnotations  map[string]string `json:"commonAnnotations"`
	ConfigMapGenerator []struct {
		Name      string   `json:"name"`
		Namespace string   `json:"namespace"`
		Files     []string `json:"files"`
	} `json:"configMapGenerator"`
	Patches []struct {
		Path string `json:"path"`
	} `json:"patches"`
	Images []struct {
		Name   string `json:"name"`
		NewTag string `json:"newTag"`
	} `json:"images"`
}

// shipped is every object of deploy/, by file, decoded without an unknown field.
func shipped(t *testing.T) map[string][]any {
	t.Helper()
	all := map[string][]any{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() || !strings.HasSuffix(file, ".yaml") {
			return nil
		}
		for _, document := range documents(t, file) {
			var meta metav1.TypeMeta
			require.NoError(t, yaml.Unmarshal(document, &meta), file)
			build, known := types[meta.APIVersion+" "+meta.Kind]
			require.Truef(t, known, "%s: nobody knows %s %s", file, meta.APIVersion, meta.Kind)
			object := build()
			require.NoError(t, yaml.UnmarshalStrict(document, object), file)
			all[file] = append(all[file], object)
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

func documents(t *testing.T, file string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Split(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---\n"))
}

// only is the one object of type T in file.
func only[T any](t *testing.T, all map[string][]any, file string) *T {
	t.Helper()
	var found []*T
	for _, object := range all[filepath.FromSlash(file)] {
		if one, ok := object.(*T); ok {
			found = append(found, one)
		}
	}
	require.Len(t, found, 1, file)
	return found[0]
}

func TestEverythingShippedIsWellFormed(t *testing.T) {
	all := shipped(t)
	require.Greater(t, len(all), 20)
	for file, objects := range all {
		for _, object := range objects {
			k, ok := object.(*kustomization)
			if !ok {
				continue
			}
			for _, name := range k.Resources {
				require.FileExists(t, existing(t, filepath.Join(filepath.Dir(file), name)), file)
			}
			for _, g := range k.ConfigMapGenerator {
				for _, name := range g.Files {
					require.FileExists(t, filepath.Join(filepath.Dir(file), name), file)
				}
			}
		}
	}
}

// existing is the file of a resource that a kustomization names: the file itself, or the kustomization of a folder.
func existing(t *testing.T, name string) string {
	t.Helper()
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return filepath.Join(name, "kustomization.yaml")
	}
	return name
}

func TestEveryFileIsInAKustomization(t *testing.T) {
	all := shipped(t)
	named := map[string]bool{}
	for file, objects := range all {
		for _, object := range objects {
			if k, ok := object.(*kustomization); ok {
				for _, name := range k.Resources {
					named[filepath.Join(filepath.Dir(file), name)] = true
				}
				for _, g := range k.ConfigMapGenerator {
					named[filepath.Join(filepath.Dir(file), g.Files[0])] = true
				}
				for _, patch := range k.Patches {
					named[filepath.Join(filepath.Dir(file), patch.Path)] = true
				}
			}
		}
	}
	for file := range all {
		example := file == filepath.FromSlash("guard/scheduler-config.yaml") || file == filepath.FromSlash("shadow-called/scheduler-config.yaml")
		require.True(t, named[file] || example || filepath.Base(file) == "kustomization.yaml", "%s: no kustomization names it", file)
	}
}

func TestSamplesAreReadByMuster(t *testing.T) {
	pools, err := manifest.ReadPools("samples/provider-sim.yaml", "samples/pool-general.yaml", "samples/pool-gpu.yaml", "samples/pool-range.yaml")
	require.NoError(t, err)
	require.Len(t, pools.Pools, 3)
	require.Len(t, pools.Providers, 1)
}
