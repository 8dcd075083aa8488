package stories

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestPlaceModePlacesNothingUnchecked: with Muster down nobody checks room, so nothing may be placed, though all of it
// would fit; and all goes on when Muster is back.
func TestPlaceModePlacesNothingUnchecked(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Nodes(2, "roomy", stage.Resources("cpu", "8", "memory", "16Gi"))
	replica := s.Place(stage.ReplicaOptions{})
	s.AwaitRunning(soon, s.Create(s.Pod("before", stage.Resources("cpu", "1")))...)
	replica.Muster.Kill()

	var pods []*corev1.Pod
	for i := range 10 {
		pods = append(pods, s.Pod(fmt.Sprintf("waiting-%d", i), stage.Resources("cpu", "1")))
	}
	pods = s.Create(pods...)
	s.Hold(soon, "every pod to have been tried in vain", func() error { return s.Unbound(pods...) },
		func() error { return s.AllTried(pods...) })
	if err := replica.Muster.Start(); err != nil {
		t.Fatal(err)
	}
	t.Logf("all ran %s after Muster was started again", s.AwaitRunning(soon, pods...))
}
