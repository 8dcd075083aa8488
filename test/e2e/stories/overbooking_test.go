package stories

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestNeverOverbooksWhileBindingIsSlowAndMusterDies: the scheduler binds five pods a second, long after it has chosen
// nodes for hundreds; one pod's volume takes minutes; and Muster, with all its holds, is killed in the middle.
func TestNeverOverbooksWhileBindingIsSlowAndMusterDies(t *testing.T) {
	const nodes, crowd = 20, 500
	s := stage.New(t, kit)
	s.Backend() // no pool: room is what there is
	s.Nodes(nodes, "half-full", stage.Resources("cpu", "4", "memory", "8Gi"))
	s.AwaitRunning(soon, s.Create(residents(s, nodes)...)...)
	replica := s.Place(stage.ReplicaOptions{Config: func(c shipped.SchedulerConfig) shipped.SchedulerConfig {
		return c.WithClientSpeed(5, 5)
	}})

	volume := s.SlowVolume("data")
	patient := s.Create(s.Pod("patient", stage.Resources("cpu", "1"), volume.Mounted))[0]
	s.Await(soon, "the pod with the volume to have a node in view", func() error { return s.Nominated(patient) })

	var many []*corev1.Pod
	for i := range crowd {
		many = append(many, s.Pod(fmt.Sprintf("crowd-%d", i), stage.Resources("cpu", "100m", "memory", "10Mi")))
	}
	many = s.Create(many...)
	s.Await(4*time.Minute, "a hundred bindings", func() error { return s.AtLeastBound(100, many...) })
	replica.Crash()
	begin := time.Now()
	const free = nodes*20 - 10 // 2 CPUs a node in pods of 100m, less what the patient pod keeps
	s.Hold(6*time.Minute, "every free place to be taken", func() error { return s.Unbound(patient) },
		func() error { return s.AtLeastBound(free, many...) })
	t.Logf("%d pods were bound, the last of them %s after Muster was killed", free, time.Since(begin).Round(time.Second))

	volume.Provision()
	t.Logf("the pod with the slow volume ran %s after its volume came", s.AwaitRunning(soon, patient).Round(time.Millisecond))
	bound, err := s.BoundOf(many...)
	require.NoError(t, err)
	require.Equal(t, free, bound, "no place was taken twice")
}

// residents fill every node by half. They were there before Muster: nobody schedules them.
func residents(s *stage.Stage, nodes int) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range nodes {
		p := s.Pod(fmt.Sprintf("resident-%d", i), stage.Resources("cpu", "2", "memory", "1Gi"))
		p.Spec.NodeName = fmt.Sprintf("half-full-%d", i)
		pods = append(pods, p)
	}
	return pods
}

var errNotYet = errors.New("not yet")
