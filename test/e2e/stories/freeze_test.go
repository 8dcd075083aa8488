package stories

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// freezeLine is what docs/freeze.md tells a person without the muster program to type.
var freezeLine = []string{"-n", "muster-system", "patch", "configmap", "muster-freeze", "--type=merge", "-p"}

// thawed ends what the story froze, also when it fails: the next one shares the ConfigMap.
func thawed(s *stage.Stage) {
	s.T.Cleanup(func() {
		_, err := s.Plane.Kubectl(s.Ctx, append(freezeLine, `{"data":null}`)...)
		require.NoError(s.T, err)
	})
}

func (s *sparse) muster(args ...string) string {
	s.T.Helper()
	out, err := s.Kit.Muster(s.Ctx, append(args, "--kubeconfig="+s.Plane.AdminKubeconfig)...)
	require.NoError(s.T, err)
	return string(out)
}

func (s *sparse) frozen() *metav1.Condition {
	return meta.FindStatusCondition(s.Pool("general").Status.Conditions, v1alpha1.ConditionFrozen)
}

// freezer is a person with the right to freeze and with no other one.
const freezer = "freezer@example.org"

func (s *sparse) allowFreezer() {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "freezer", Namespace: "muster-system"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "muster-freeze"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: freezer}},
	}
	bindings := s.Plane.Client.RbacV1().RoleBindings(binding.Namespace)
	_, err := bindings.Create(s.Ctx, binding, metav1.CreateOptions{})
	require.NoError(s.T, err)
	s.T.Cleanup(func() { require.NoError(s.T, bindings.Delete(s.Ctx, binding.Name, metav1.DeleteOptions{})) })
}

// TestAFreezeInTheMiddleOfARelease: a node is being drained, and a budget keeps its pod. A person freezes, and the budget goes: the pod
// stays all the same, and so do its node and machine, until the thaw. Installing Muster again does not thaw.
func TestAFreezeInTheMiddleOfARelease(t *testing.T) {
	s := newSparse(t, 5*time.Minute)
	thawed(s.Stage)
	s.allowFreezer()
	budgets, one := s.Plane.Client.PolicyV1().PodDisruptionBudgets(s.Namespace), intstr.FromInt32(1)
	_, err := budgets.Create(s.Ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "lonely"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "lonely"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	left := s.claim(s.lonely)
	s.Delete(s.goes)
	s.ChangeClaim(left, func(c *v1alpha1.NodeClaim) { // the reaper itself looks at budgets before it asks for a drain
		c.Spec.Release = &v1alpha1.Release{Reason: "Underused", Since: metav1.NowMicro(), Drain: &v1alpha1.Drain{Timeout: metav1.Duration{Duration: 5 * time.Minute}}}
	})
	s.Await(soon, "the drain to begin", s.in(left, v1alpha1.ClaimDraining))

	_, err = s.Plane.Kubectl(s.Ctx, append(freezeLine, `{"data":{"releases":"general","reason":"fire in the lab","by":"freezer"}}`, "--as=bob@example.org")...)
	require.ErrorContains(t, err, "forbidden")
	_, err = s.Plane.Kubectl(s.Ctx, append(freezeLine, `{"data":{"releases":"general","reason":"fire in the lab","by":"freezer"}}`, "--as="+freezer)...)
	require.NoError(t, err)
	s.Await(soon, "the pool to say so", func() error {
		if c := s.frozen(); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("it says %v", c)
		}
		return nil
	})
	require.Equal(t, "releases are frozen by freezer: fire in the lab", s.frozen().Message)
	require.NoError(t, budgets.Delete(s.Ctx, "lonely", metav1.DeleteOptions{}))
	_, err = s.Plane.Kubectl(s.Ctx, "apply", "-k", s.Kit.File("deploy/rbac"))
	require.NoError(t, err)

	begin := time.Now() // a refused eviction is asked for again after 5 s
	s.Hold(soon, "two more evictions to be due", func() error {
		pod, err := s.Get(s.lonely)
		if err != nil || pod.UID != s.lonely.UID || pod.DeletionTimestamp != nil {
			return errors.Join(fmt.Errorf("pod %s is evicted: %v", s.lonely.Name, s.Diary.Deleted()), err)
		}
		return s.in(left, v1alpha1.ClaimDraining)()
	}, func() error {
		if waited := time.Since(begin); waited < 12*time.Second {
			return fmt.Errorf("%s so far", waited)
		}
		return nil
	})
	require.Equal(t, "releases are frozen by freezer: fire in the lab", s.frozen().Message, "it was installed again")
	out := s.muster("freeze", "--pool", "general", "--reason", "still burning")
	require.Contains(t, out, "Frozen: releases of general.\n")
	require.Contains(t, out, "still burning (before, by freezer: fire in the lab)\n")
	require.Contains(t, out, "On their way out; no pod is evicted and no machine is deleted until they thaw:\n  "+left+"  pool general")
	require.Contains(t, out, "Muster says so on pool general.\n")

	require.Contains(t, s.muster("thaw"), "Nothing is frozen.\n")
	s.Await(soon, "the release to go on", func() error {
		claims, err := s.Claims("general")
		if err == nil && slices.ContainsFunc(claims, func(c v1alpha1.NodeClaim) bool { return c.Name == left }) {
			return fmt.Errorf("%s is there: %s", left, s.claimNamed(left).Status.Message)
		}
		return err
	})
	require.Equal(t, []string{s.goes.Name, s.lonely.Name}, s.Diary.Deleted())
}

// TestNothingIsOrderedWhileProvisioningIsFrozen: the pod is told so; thawing is all that its machine needs.
func TestNothingIsOrderedWhileProvisioningIsFrozen(t *testing.T) {
	s := &sparse{Stage: stage.New(t, kit)}
	thawed(s.Stage)
	s.Backend()
	s.Apply(stage.Pool("general", 3, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}))
	s.Place(stage.ReplicaOptions{})
	require.Contains(t, s.muster("freeze", "--provisioning", "--reason", "inventory"), "Frozen: provisioning of every pool.\n")
	pod := s.Create(s.Pod("waits", stage.Resources("cpu", "2")))[0]
	s.Hold(soon, "the pod to be told", func() error {
		claims, err := s.Claims("general")
		if err == nil && len(claims) > 0 {
			return errors.New("a machine is ordered")
		}
		return err
	}, func() error {
		p, err := s.Get(pod)
		if err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == v1alpha1.CapacityCondition && c.Reason == "PoolFrozen" && c.Status == corev1.ConditionFalse &&
				strings.Contains(c.Message, "provisioning is frozen by") && strings.Contains(c.Message, "inventory") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", p.Status.Conditions)
	})
	s.muster("thaw", "--provisioning")
	s.AwaitRunning(soon, pod)
}
