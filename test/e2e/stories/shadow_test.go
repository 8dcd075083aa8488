package stories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/shadow"
	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestAShadowReportsAndTouchesNothing: a pod waits, nodes are idle, and a scheduler calls the shadow for every pod. The shadow
// reports a purchase and a release; pods run as without it; no object names it as a writer, and its account may write nothing.
func TestAShadowReportsAndTouchesNothing(t *testing.T) {
	s := stage.New(t, kit)
	before := writes(s)
	s.Backend()
	s.Apply(stage.Pool("shadowed", 4, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{Duration: 5 * time.Second}}
	}))
	s.Node("idle", stage.Resources("cpu", "2", "memory", "4Gi"), func(n *corev1.Node) { n.Labels["tier"] = "batch" })
	s.Node("busy", stage.Resources("cpu", "2", "memory", "4Gi"))
	recording := t.TempDir()
	muster := s.Shadowed("--shadow-nodes=shadowed=tier=batch", "--shadow-boot=2s", "--record="+recording)

	large := s.Create(s.Pod("large", stage.Resources("cpu", "3"), guarded))[0]
	small := s.Create(s.Pod("small", stage.Resources("cpu", "1"), guarded, func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "busy"}
	}))[0]
	s.AwaitRunning(soon, small)
	var r shadow.Report
	s.Await(soon, "a purchase and a release to be reported", func() error {
		r = report(s, muster)
		if len(r.Machines) != 1 || len(r.Nodes) != 1 || r.Totals.WaitSaved < 3 {
			return fmt.Errorf("%d machines, %d nodes, %.0f s saved", len(r.Machines), len(r.Nodes), r.Totals.WaitSaved)
		}
		return nil
	})
	require.Equal(t, "shadowed m large", r.Machines[0].Pool+" "+r.Machines[0].Shape+" "+r.Machines[0].Pods[0].Name)
	require.Equal(t, "idle", r.Nodes[0].Node)
	require.Equal(t, 1, r.WaitingPods)
	text, err := kit.Muster(s.Ctx, "shadow", "report", "--address", muster.MetricsURL)
	require.NoError(t, err)
	t.Logf("\n%s", text)

	s.Node("late", stage.Resources("cpu", "4", "memory", "8Gi")) // what somebody else bought
	s.AwaitRunning(soon, large)
	s.Await(soon, "the proposal to end", func() error {
		if r = report(s, muster); len(r.Machines) > 0 {
			return fmt.Errorf("%s stands", r.Machines[0].Name)
		}
		return nil
	})
	require.Equal(t, []string{shadow.WhyServed, "late"}, []string{r.EndedMachines[0].Why, r.EndedMachines[0].Pods[0].Node})
	require.Equal(t, 1, r.Totals.Purchases)

	require.Empty(t, s.MustClaims(""))
	require.Empty(t, s.Machines())
	untouched(s, before)
	powerless(s)
	muster.Stop(10 * time.Second)
	recorded(s, recording)
}

func report(s *stage.Stage, muster *shipped.Service) shadow.Report {
	var r shadow.Report
	text, err := kit.Muster(s.Ctx, "shadow", "report", "--address", muster.MetricsURL, "--output", "json")
	require.NoError(s.T, err)
	require.NoError(s.T, json.Unmarshal(text, &r))
	return r
}

// write is what the API server notes of a change (metadata.managedFields): who made it, to what, and in which second.
type write struct {
	object  types.UID
	program string
	at      metav1.Time
}

// untouched looks at who wrote to what there is since the writes before.
func untouched(s *stage.Stage, before map[write]bool) {
	writers := map[string]int{}
	for w := range writes(s) {
		if !before[w] {
			writers[w.program]++
		}
	}
	s.T.Logf("writers: %v", writers)
	require.Greater(s.T, len(writers), 2, "the API server notes who writes")
	require.NotContains(s.T, writers, "muster")
}

// writes are those that can be seen in what there is, the last of each program to each object.
func writes(s *stage.Stage) map[write]bool {
	client, err := dynamic.NewForConfig(s.Plane.Admin)
	require.NoError(s.T, err)
	seen := map[write]bool{}
	for _, of := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "nodes"}, {Version: "v1", Resource: "namespaces"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, {Group: "events.k8s.io", Version: "v1", Resource: "events"},
		{Group: "muster.sh", Version: "v1alpha1", Resource: "nodepools"}, {Group: "muster.sh", Version: "v1alpha1", Resource: "providers"},
	} {
		list, err := client.Resource(of).List(s.Ctx, metav1.ListOptions{})
		require.NoError(s.T, err)
		for _, o := range list.Items {
			for _, entry := range o.GetManagedFields() {
				if entry.Time != nil {
					seen[write{o.GetUID(), entry.Manager, metav1.NewTime(entry.Time.UTC())}] = true
				}
			}
		}
	}
	return seen
}

// powerless asks the API server what the shadow's account may do.
func powerless(s *stage.Stage) {
	text, err := s.Plane.Kubectl(s.Ctx, "auth", "can-i", "--list", "--as=system:serviceaccount:muster-system:muster-shadow")
	require.NoError(s.T, err)
	for line := range strings.Lines(text) {
		if open := strings.LastIndex(line, "["); open >= 0 && !strings.Contains(line, "selfsubject") {
			for _, verb := range strings.Fields(strings.Trim(strings.TrimSpace(line[open:]), "[]")) {
				require.Contains(s.T, []string{"get", "list", "watch"}, verb, line)
			}
		}
	}
	require.Contains(s.T, text, "nodepools.muster.sh")
}

// recorded has the recording of a shadow inspected and replayed: the second step.
func recorded(s *stage.Stage, folder string) {
	text, err := kit.Muster(s.Ctx, "record", "inspect", folder)
	require.NoError(s.T, err)
	require.Contains(s.T, string(text), "guard/filter")
	require.NoError(s.T, os.WriteFile(filepath.Join(s.Logs, "recording.txt"), bytes.TrimSpace(text), 0o600))
	text, err = kit.Muster(s.Ctx, "replay", "--recording", folder, "--output", "json")
	require.NoError(s.T, err, "%s", text)
}
