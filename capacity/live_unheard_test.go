package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/internal/object"
)

// A pod that came a moment ago may need the node that is about to go.
func TestAPodIsUnheardOfUntilSomethingIsKnownOfIt(t *testing.T) {
	pending := func() *corev1.Pod { return object.Pod("a", "cpu", "1") }
	for name, c := range map[string]struct {
		then func(*scene)
		want bool
	}{
		"nothing was said":      {func(*scene) {}, true},
		"it has room":           {func(s *scene) { s.nodes(object.Node("n", "cpu", "4")); s.place(pending(), "n") }, false},
		"it lacks room":         {func(s *scene) { s.nodes(object.Node("n", "cpu", "500m")); s.place(pending(), "n") }, false},
		"its scheduler said so": {func(s *scene) { s.pods(unschedulable(pending())) }, false},
		"it was bound":          {func(s *scene) { p := pending(); p.Spec.NodeName = "n"; s.pods(p) }, false},
		"it is gone":            {func(s *scene) { s.ForgetPod("a") }, false},
		"another scheduler's pod": {func(s *scene) {
			s.ForgetPod("a")
			p := pending()
			p.UID, p.Spec.SchedulerName = "b", "theirs"
			s.pods(p)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.pods(pending())
			c.then(s)
			require.Equal(t, c.want, s.Unheard(object.Start.Add(time.Second)))
			require.False(t, s.Unheard(object.Start.Add(unheardFor)), "nobody will ever say anything of it")
		})
	}
}
