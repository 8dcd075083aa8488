package removal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// scene is two nodes of a running Muster with a pod of a ReplicaSet on each.
type scene struct {
	*stage.Stage
	replica *stage.Replica
}

const soon = 90 * time.Second

var definitions = []string{"hosts.muster.sh", "nodeclaims.muster.sh", "nodepools.muster.sh", "providers.muster.sh"}

func begin(t *testing.T) *scene {
	t.Helper()
	s := &scene{Stage: stage.New(t, kit)}
	t.Cleanup(s.reinstall) // before the stage is cleared: it lists what there is of Muster's kinds
	s.Backend("--boot-min=500ms", "--boot-median=500ms", "--boot-max=500ms")
	s.Apply(stage.Pool("kept", 4, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}))
	s.replica = s.Place(stage.ReplicaOptions{})
	n := int32(2)
	template := s.Pod("web", stage.Resources("cpu", "3"))
	_, err := s.Plane.Client.AppsV1().ReplicaSets(s.Namespace).Create(s.Ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.AwaitClaims(soon, "kept", 2, v1alpha1.ClaimReady)
	s.Await(soon, "both pods to run", s.podsRun)
	s.WholeAndPaired()
	return s
}

func (s *scene) podsRun() error {
	pods, err := s.List()
	if err != nil {
		return err
	}
	running := 0
	for _, p := range pods {
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	if running != 2 || len(pods) != 2 {
		return fmt.Errorf("%d of %d pods run", running, len(pods))
	}
	return nil
}

// reinstall has everything of Muster in the cluster again, with the protection in force, and returns when it is.
func (s *scene) reinstall() {
	s.T.Helper()
	s.Await(soon, "what is being deleted to be gone", func() error {
		out, err := s.kubectl("get", "crd,namespace", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}")
		if err == nil && out != "" {
			err = errors.New("something is being deleted: " + out)
		}
		return err
	})
	again, err := shipped.Install(s.Ctx, s.Plane)
	require.NoError(s.T, err)
	kit, s.Kit = again, again
	s.Await(soon, "the protection to be in force", func() error {
		out, err := s.kubectl("delete", "--dry-run=server", "crd", "hosts.muster.sh")
		if err == nil {
			return errors.New("not denied: " + out)
		}
		return nil
	})
}

func (s *scene) kubectl(args ...string) (string, error) { return s.Plane.Kubectl(s.Ctx, args...) }

// deleteOverlay is what an operator types.
func (s *scene) deleteOverlay(name string, flags ...string) (string, error) {
	return s.kubectl(append([]string{"delete", "--ignore-not-found", "--timeout=20s", "-k", filepath.Join("deploy", name)}, flags...)...)
}

// muster runs a command of the product as the administrator.
func (s *scene) muster(args ...string) (string, error) {
	out, err := s.Kit.Muster(s.Ctx, append(args, "--kubeconfig="+s.Plane.AdminKubeconfig)...)
	return string(out), err
}

// untouched wants claims, nodes, pods and machines as they were at the beginning, and nothing on its way to an end.
func (s *scene) untouched() error {
	if err := s.ready(); err != nil {
		return err
	}
	for _, name := range definitions {
		if err := s.stands(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, name); err != nil {
			return err
		}
	}
	return errors.Join(s.stands(corev1.SchemeGroupVersion.WithKind("Namespace"), "muster-system"), s.undisturbed())
}

// ready wants both claims as they were, and none on its way to an end.
func (s *scene) ready() error {
	claims, err := s.Claims("kept")
	if err != nil {
		return err
	}
	for _, c := range claims {
		if c.DeletionTimestamp != nil || c.Spec.Release != nil || c.Status.State != v1alpha1.ClaimReady {
			return fmt.Errorf("claim %s is %s, deleted at %v: %s", c.Name, c.Status.State, c.DeletionTimestamp, c.Status.Message)
		}
	}
	if len(claims) != 2 {
		return fmt.Errorf("there are %d claims", len(claims))
	}
	return nil
}

// poolKept wants a pool that is being deleted to say that its nodes are not released, and why.
func (s *scene) poolKept() error {
	why := meta.FindStatusCondition(s.Pool("kept").Status.Conditions, v1alpha1.ConditionDeleting)
	if why == nil || !strings.Contains(why.Message, "kept: CustomResourceDefinition nodepools.muster.sh is being deleted") {
		return fmt.Errorf("the pool says %v", why)
	}
	return nil
}

// stands wants an object that is there and is not being deleted.
func (s *scene) stands(kind schema.GroupVersionKind, name string) error {
	var o metav1.PartialObjectMetadata
	o.SetGroupVersionKind(kind)
	if err := s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: name}, &o); err != nil {
		return err
	}
	if o.DeletionTimestamp != nil {
		return fmt.Errorf("%s %s is being deleted since %v", kind.Kind, name, o.DeletionTimestamp)
	}
	return nil
}

// undisturbed wants two open nodes, each pod where it was, and every machine.
func (s *scene) undisturbed() error {
	nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(nodes.Items) != 2 {
		return fmt.Errorf("there are %d nodes", len(nodes.Items))
	}
	for _, n := range nodes.Items {
		closed := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return strings.HasPrefix(t.Key, "muster.sh/") })
		if n.Spec.Unschedulable || closed || n.DeletionTimestamp != nil {
			return fmt.Errorf("node %s is closed: %v", n.Name, n.Spec.Taints)
		}
	}
	machines, err := s.Sim.List(s.Ctx)
	if err == nil && len(machines) != 2 {
		err = fmt.Errorf("there are %d machines", len(machines))
	}
	return errors.Join(err, s.podsRun())
}

// calm wants untouched to hold for a while.
func (s *scene) calm(while time.Duration, check func() error) {
	s.T.Helper()
	end := time.Now().Add(while)
	s.Hold(while+soon, "nothing to happen", check, func() error {
		if time.Now().Before(end) {
			return errors.New("not over")
		}
		return nil
	})
}

// noDestruction wants no call to the backend that takes a machine or its power.
func (s *scene) noDestruction() {
	s.T.Helper()
	calls, err := s.Sim.Calls(s.Ctx)
	require.NoError(s.T, err)
	require.NotEmpty(s.T, calls)
	for _, c := range calls {
		require.NotContains(s.T, []string{"delete", "stop"}, strings.ToLower(c.Verb))
	}
}

// blocked wants every claim held, told by a condition with this reason.
func (s *scene) blocked(reason string) error {
	claims, err := s.Claims("kept")
	if err != nil {
		return err
	}
	for _, c := range claims {
		why := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReleaseBlocked)
		if c.DeletionTimestamp == nil || why == nil || why.Status != metav1.ConditionTrue || why.Reason != reason {
			return fmt.Errorf("claim %s (deleted at %v) has condition %v", c.Name, c.DeletionTimestamp, why)
		}
	}
	return nil
}

// unprotect deletes the policy by hand, as an operator who does not know better.
func (s *scene) unprotect() {
	s.T.Helper()
	for _, kind := range []string{"validatingadmissionpolicybinding", "validatingadmissionpolicy"} {
		require.NoError(s.T, retry.OnError(retry.DefaultBackoff, func(error) bool { return true }, func() error {
			_, err := s.kubectl("patch", kind, "muster-removal", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
			return err
		}))
		_, err := s.kubectl("delete", "--ignore-not-found", kind, "muster-removal")
		require.NoError(s.T, err)
	}
}
