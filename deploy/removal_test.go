package deploy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// base is the one overlay that holds what must outlive every mode.
const base = "base"

// protection is the file of the policy that refuses to delete it.
const protection = "base/protection.yaml"

// overlays are the folders that `kubectl delete -k` may be given, with every object that it would then delete.
func overlays(t *testing.T) map[string][]any {
	t.Helper()
	all, found := shipped(t), map[string][]any{}
	for file := range all {
		if filepath.Base(file) == "kustomization.yaml" {
			found[filepath.Dir(file)] = built(t, all, filepath.Dir(file))
		}
	}
	require.Greater(t, len(found), 10)
	return found
}

// built is every object of a kustomization and of those that it names.
func built(t *testing.T, all map[string][]any, folder string) []any {
	t.Helper()
	var objects []any
	for _, name := range only[kustomization](t, all, filepath.Join(folder, "kustomization.yaml")).Resources {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			objects = append(objects, built(t, all, path)...)
		} else {
			objects = append(objects, all[path]...)
		}
	}
	return objects
}

// Deleting a mode touches no claim: neither a definition nor the namespace goes with it, nor what protects them.
func TestOnlyTheBaseHoldsWhatMustOutliveAMode(t *testing.T) {
	for folder, objects := range overlays(t) {
		if folder == base || folder == "crds" {
			continue
		}
		for _, object := range objects {
			namespace, isNamespace := object.(*corev1.Namespace)
			require.Falsef(t, isNamespace && namespace.Name != "muster-poweroff", "deploy/%s holds a Namespace", folder)
			_, isDefinition := object.(*apiextensionsv1.CustomResourceDefinition)
			require.Falsef(t, isDefinition, "deploy/%s holds a CustomResourceDefinition", folder)
			policy, isPolicy := object.(*admissionv1.ValidatingAdmissionPolicy)
			require.Falsef(t, isPolicy && policy.Name == "muster-removal", "deploy/%s holds the protection", folder)
		}
	}
}

func TestTheBaseHoldsEveryDefinitionTheNamespaceAndTheProtectionAndNothingElse(t *testing.T) {
	got := map[string]int{}
	for _, object := range overlays(t)[base] {
		got[fmt.Sprintf("%T", object)]++
	}
	require.Equal(t, map[string]int{
		"*v1.CustomResourceDefinition": 4, "*v1.Namespace": 1,
		"*v1.ValidatingAdmissionPolicy": 1, "*v1.ValidatingAdmissionPolicyBinding": 1,
	}, got)
	files, err := filepath.Glob("crds/muster.sh_*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 4)
	k := only[kustomization](t, shipped(t), "base/kustomization.yaml")
	require.Equal(t, map[string]string{v1alpha1.RemovalAllowedAnnotation: "false"}, k.CommonAnnotations,
		"applying the base takes the mark back that `muster uninstall` set")
}

func TestTheProtectionFailsClosedDeniesAndCannotBeDeletedByItself(t *testing.T) {
	all := shipped(t)
	policy, binding := only[admissionv1.ValidatingAdmissionPolicy](t, all, protection), only[admissionv1.ValidatingAdmissionPolicyBinding](t, all, protection)
	require.Equal(t, admissionv1.Fail, *policy.Spec.FailurePolicy)
	require.Equal(t, policy.Name, binding.Spec.PolicyName)
	require.Equal(t, []admissionv1.ValidationAction{admissionv1.Deny}, binding.Spec.ValidationActions)
	require.Nil(t, binding.Spec.MatchResources)
	require.Nil(t, policy.Spec.MatchConstraints.NamespaceSelector)
	require.Equal(t, []string{v1alpha1.RemovalFinalizer}, policy.Finalizers)
	require.Equal(t, []string{v1alpha1.RemovalFinalizer}, binding.Finalizers)
	for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
		require.Empty(t, rule.ResourceNames, "a request to delete a collection has no name")
		require.Equal(t, []admissionv1.OperationType{admissionv1.Delete}, rule.Operations)
	}
	require.Contains(t, policy.Spec.Validations[0].Message, "muster uninstall --keep-nodes")
	require.Contains(t, policy.Spec.Validations[0].Message, "muster uninstall --drain")
}

// Every definition in deploy/crds is covered: one of a new kind fails here until the policy covers it.
func TestTheProtectionCoversEveryDefinitionAndTheNamespaceAndNothingElse(t *testing.T) {
	all := shipped(t)
	policy := only[admissionv1.ValidatingAdmissionPolicy](t, all, protection)
	var ours []metav1.Object
	for file, objects := range all {
		if strings.HasPrefix(file, "crds") {
			for _, object := range objects {
				if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
					ours = append(ours, crd)
				}
			}
		}
	}
	require.Len(t, ours, 4)
	ours = append(ours, only[corev1.Namespace](t, all, "base/namespace.yaml"))
	for _, o := range ours {
		require.Equal(t, refused, deletion(t, policy, o), o.GetName())
		o.SetAnnotations(map[string]string{v1alpha1.RemovalAllowedAnnotation: "false"})
		require.Equal(t, refused, deletion(t, policy, o), o.GetName())
		o.SetAnnotations(map[string]string{v1alpha1.RemovalAllowedAnnotation: "true"})
		require.Equal(t, allowed, deletion(t, policy, o), o.GetName())
	}
	for _, name := range []string{"muster-poweroff", "default", "muster-system-2"} {
		require.Equal(t, ignored, deletion(t, policy, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}), name)
	}
	for _, name := range []string{"nodepools.karpenter.sh", "hosts.muster.sh.example.org", "hosts.other.muster.sh", "hosts.notmuster.sh"} {
		require.Equal(t, ignored, deletion(t, policy, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}), name)
	}
}

// What becomes of a request.
const (
	ignored = "ignored"
	allowed = "allowed"
	refused = "refused"
)

// deletion is what a policy says of the deletion of one object among a collection, by the API server's own CEL.
func deletion(t *testing.T, policy *admissionv1.ValidatingAdmissionPolicy, o metav1.Object) string {
	t.Helper()
	gvr, gvk := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	if _, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
		gvr, gvk = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	}
	if !slices.ContainsFunc(policy.Spec.MatchConstraints.ResourceRules, func(r admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(r.APIGroups, gvr.Group) && slices.Contains(r.Resources, gvr.Resource)
	}) {
		return ignored
	}
	object, ok := o.(runtime.Object)
	require.True(t, ok)
	request := admission.NewAttributesRecord(nil, object, gvk, "", "", gvr, "", admission.Delete, &metav1.DeleteOptions{}, false, nil)
	if !holds(t, policy.Spec.MatchConditions[0].Expression, request, object) {
		return ignored
	}
	if holds(t, policy.Spec.Validations[0].Expression, request, object) {
		return allowed
	}
	return refused
}

func holds(t *testing.T, text string, a admission.Attributes, old runtime.Object) bool {
	t.Helper()
	compiler := plugincel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	results, _, err := compiler.CompileCondition([]plugincel.ExpressionAccessor{&matchconditions.MatchCondition{Expression: text}}, plugincel.OptionalVariableDeclarations{}, environment.NewExpressions).
		ForInput(context.Background(), &admission.VersionedAttributes{Attributes: a, VersionedOldObject: old, VersionedKind: a.GetKind()},
			plugincel.CreateAdmissionRequest(a, metav1.GroupVersionResource(a.GetResource()), metav1.GroupVersionKind(a.GetKind())),
			plugincel.OptionalVariableBindings{}, nil, celconfig.RuntimeCELCostBudget)
	require.NoError(t, err)
	require.NoError(t, results[0].Error, text)
	value, ok := results[0].EvalResult.Value().(bool)
	require.True(t, ok)
	return value
}

// Muster asks whether a kind is being deleted before it gives machines of that kind back, and may read no other definition.
func TestMusterMayReadTheDefinitionsThatItAsksAbout(t *testing.T) {
	found := 0
	eachRule(t, func(file string, rule rbacv1.PolicyRule) {
		if slices.Contains(rule.Resources, "customresourcedefinitions") {
			found++
			require.Equal(t, filepath.FromSlash("rbac/base/muster.yaml"), file)
			require.Equal(t, []string{"get"}, rule.Verbs)
			require.Equal(t, []string{v1alpha1.ClaimDefinition, v1alpha1.PoolDefinition}, rule.ResourceNames)
		}
	})
	require.Equal(t, 1, found)
}
