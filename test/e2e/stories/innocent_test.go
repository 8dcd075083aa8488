package stories

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestInnocentPodIsNotKilledForAPodThatFitsNowhere: an important pod fits no node; one node refuses it in-tree as well,
// since its host port is taken there. Killing the holder of the port would help nobody.
func TestInnocentPodIsNotKilledForAPodThatFitsNowhere(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	_, err := s.Plane.Client.SchedulingV1().PriorityClasses().Create(s.Ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "important"}, Value: 1000,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.Node("port-taken", stage.Resources("cpu", "4", "memory", "8Gi"))
	s.Node("other", stage.Resources("cpu", "4", "memory", "8Gi"))
	s.Place(stage.ReplicaOptions{})
	innocent := s.Create(s.Pod("innocent", stage.Resources("cpu", "1"), stage.WithHostPort(8080),
		stage.WithNodeSelector(corev1.LabelHostname, "port-taken")))[0]
	s.AwaitRunning(soon, innocent)

	important := s.Create(s.Pod("important", stage.Resources("cpu", "64"), stage.WithHostPort(8080), func(p *corev1.Pod) {
		p.Spec.PriorityClassName = "important"
	}))[0]
	unharmed := func() error { return s.Running(innocent) }
	s.Hold(soon, "the important pod to be found hopeless", unharmed,
		func() error { return s.SchedulerSays(important, "0/2 nodes") })
	s.AwaitNoHelp(soon, important, "no NodePool exists")

	s.Apply(stage.Pool("large", 1, []v1alpha1.Shape{stage.Shape("xl", "cpu", "96", "memory", "64Gi")}))
	s.Hold(soon, "the important pod to run on a node of its own", unharmed, func() error { return s.Running(important) })
	require.Empty(t, s.Diary.Deleted(), "nobody was killed")
	s.WholeAndPaired()
}
