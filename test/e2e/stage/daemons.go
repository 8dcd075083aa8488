package stage

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Daemon is a DaemonSet of the story.
type Daemon = appsv1.DaemonSet

// DaemonSet runs one pod on every node, whatever its taints. It returns what the API server has.
func (s *Stage) DaemonSet(name, scheduler string, requests corev1.ResourceList) *Daemon {
	s.T.Helper()
	template := s.Pod("", requests, WithScheduler(scheduler), WithToleration(""))
	template.Labels = map[string]string{"daemon": name}
	made, err := s.Plane.Client.AppsV1().DaemonSets(s.Namespace).Create(s.Ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
		},
	}, metav1.CreateOptions{})
	require.NoError(s.T, err)
	return made
}

// AwaitDaemons waits until every node has its daemons running.
func (s *Stage) AwaitDaemons(within time.Duration, daemons ...*Daemon) {
	s.T.Helper()
	s.Await(within, "the DaemonSets to be on every node", func() error {
		nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, d := range daemons {
			got, err := s.Plane.Client.AppsV1().DaemonSets(s.Namespace).Get(s.Ctx, d.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if ready := int(got.Status.NumberReady); ready != len(nodes.Items) {
				return fmt.Errorf("DaemonSet %s runs on %d of %d nodes", d.Name, ready, len(nodes.Items))
			}
		}
		return nil
	})
}
