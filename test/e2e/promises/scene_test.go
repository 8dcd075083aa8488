package promises

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/world"
)

// scene is what all clusters share: a replica of Muster and its scheduler, a scheduler for DaemonSets, machines that
// boot when those pods are placed that fit without them, namespaces and priorities.
type scene struct {
	*stage.Stage
	replica *stage.Replica
}

func newScene(t *testing.T, idle time.Duration, machines ...string) *scene {
	s := &scene{Stage: stage.New(t, kit)}
	for name, labels := range world.Teams() {
		_, err := s.Plane.Client.CoreV1().Namespaces().Create(s.Ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
		require.NoError(t, shared(err))
		s.Await(*patience, "the ServiceAccount of namespace "+name, func() error {
			_, err := s.Plane.Client.CoreV1().ServiceAccounts(name).Get(s.Ctx, "default", metav1.GetOptions{})
			return err
		})
	}
	never := corev1.PreemptNever
	for name, value := range world.PriorityClasses() {
		_, err := s.Plane.Client.SchedulingV1().PriorityClasses().Create(s.Ctx, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: &never}, metav1.CreateOptions{})
		require.NoError(t, shared(err))
	}
	s.Backend(append([]string{"--boot-min=3s", "--boot-median=3500ms", "--boot-max=4s", "--delete-time=0s"}, machines...)...)
	s.Stock()
	s.replica = s.Place(stage.ReplicaOptions{Config: patient, Flags: []string{"--settle=0s", "--batch-idle=" + idle.String(), "--batch-max=20s"}})
	s.Await(*patience, "the replica to lead", func() error { return s.Leads(s.replica) })
	return s
}

// shared leaves out that another scene of the same control plane has made the object already.
func shared(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// patient keeps the scheduler's lease for as long as it may be paused.
func patient(c shipped.SchedulerConfig) shipped.SchedulerConfig {
	election := c["leaderElection"].(map[string]any)
	election["leaseDuration"], election["renewDeadline"] = "180s", "170s"
	return c
}

// part is the scene for one cluster's test.
func (s *scene) part(t *testing.T) *scene { return &scene{Stage: s.For(t), replica: s.replica} }

// set makes everything that was there before the pods that wait, and waits until it stands still.
func (s *scene) set(w *world.World) {
	s.T.Helper()
	for _, o := range w.Storage {
		require.NoError(s.T, s.Plane.Objects.Create(s.Ctx, o))
	}
	s.Await(*patience, "volumes to be bound", s.claimed)
	for _, n := range w.Nodes {
		_, err := s.Plane.Client.CoreV1().Nodes().Create(s.Ctx, n, metav1.CreateOptions{})
		require.NoError(s.T, err)
	}
	s.AwaitNodes(*patience)
	bound := s.Create(w.Bound...)
	s.Await(*patience, fmt.Sprintf("%d pods to run", len(bound)), func() error { return s.running(bound) })
	for _, d := range w.Daemons {
		_, err := s.Plane.Client.AppsV1().DaemonSets(d.Namespace).Create(s.Ctx, d, metav1.CreateOptions{})
		require.NoError(s.T, err)
	}
	s.Await(*patience, "the DaemonSets to be everywhere", s.daemonsRun)
	s.Apply(w.Pools...)
}

// claimed wants every volume claim bound that names its volume.
func (s *scene) claimed() error {
	list, err := s.Plane.Client.CoreV1().PersistentVolumeClaims("").List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, c := range list.Items {
		if c.Spec.VolumeName != "" && c.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("volume claim %s is %s", c.Name, c.Status.Phase)
		}
	}
	return nil
}

func (s *scene) running(pods []*corev1.Pod) error {
	now, err := s.pods()
	if err != nil {
		return err
	}
	for _, p := range pods {
		if got := now[p.UID]; got == nil || got.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s does not run yet", p.Name)
		}
	}
	return nil
}

func (s *scene) daemonsRun() error {
	list, err := s.Plane.Client.AppsV1().DaemonSets("").List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range list.Items {
		if d.Status.ObservedGeneration == 0 || d.Status.NumberReady != d.Status.DesiredNumberScheduled {
			return fmt.Errorf("DaemonSet %s runs on %d of %d nodes", d.Name, d.Status.NumberReady, d.Status.DesiredNumberScheduled)
		}
	}
	return nil
}
