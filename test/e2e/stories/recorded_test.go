package stories

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/test/e2e/recorder"
	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// recordVariable names a folder to save the recordings in; without it they are compared with nothing and thrown away.
const recordVariable = "MUSTER_E2E_RECORD"

// TestRecordedRequestsOfManyKindsOfPods: what a real kube-scheduler sends for pods of many kinds, names only and with
// whole nodes. Unit tests replay the saved requests.
func TestRecordedRequestsOfManyKindsOfPods(t *testing.T) {
	dir := recordings(t)
	names := record(t, dir, "names", nil)
	require.Len(t, names, len(kindsOfPods()), "one filter call for every kind: %v", names)
	whole := record(t, dir, "nodes", func(c shipped.SchedulerConfig) shipped.SchedulerConfig {
		c.Extenders()[0]["nodeCacheCapable"] = false
		return c
	})
	require.NotEmpty(t, whole)
}

// TestRecordedRequestsOfGuardMode has all three verbs: two nodes fit, so that they are ranked, and later only the death
// of a less important pod makes room.
func TestRecordedRequestsOfGuardMode(t *testing.T) {
	dir := recordings(t)
	s := stage.New(t, kit)
	s.Backend()
	recordedScene(s)
	r := recorder.New("names")
	s.Guarded(stage.ReplicaOptions{Record: r})
	pod := func(kind, cpu, node string, edits ...func(*corev1.Pod)) *corev1.Pod {
		return s.Pod(kind, stage.Resources("cpu", cpu), append(edits, guarded, func(p *corev1.Pod) {
			p.Labels[recorder.KindLabel] = kind
			if node != "" {
				p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
			}
		})...)
	}
	s.AwaitRunning(soon, s.Create(pod("plain", "1", ""))...)
	s.AwaitRunning(soon, s.Create(pod("victim", "6", "zoned"))...)
	important := s.Create(pod("important", "5", "zoned", func(p *corev1.Pod) { p.Spec.PriorityClassName = "recorded" }))
	s.AwaitRunning(soon, important...)
	for _, verb := range []string{"filter", "prioritize", "preempt"} {
		names, err := r.Names(verb)
		require.NoError(t, err)
		require.NotEmpty(t, names, "the scheduler sent a %s call", verb)
		t.Log(names)
	}
	require.NoError(t, r.Save(dir))
}

func recordings(t *testing.T) string {
	if dir := os.Getenv(recordVariable); dir != "" {
		return dir
	}
	return t.TempDir()
}

// record runs pods of every kind through a recorder and saves what was sent; whole nodes for two kinds only, since a
// request with nodes in it is long.
func record(t *testing.T, dir, form string, config func(shipped.SchedulerConfig) shipped.SchedulerConfig) (names []string) {
	t.Run(form, func(t *testing.T) {
		s := stage.New(t, kit)
		s.Backend()
		recordedScene(s)
		r := recorder.New(form)
		s.Place(stage.ReplicaOptions{Record: r, Config: config})
		var pods []*corev1.Pod
		for _, kind := range kindsOfPods() {
			if config != nil && kind.name != "plain" && kind.name != "affinity" {
				continue
			}
			pods = append(pods, s.Pod(kind.name, kind.requests, kind.edit, func(p *corev1.Pod) {
				p.Labels[recorder.KindLabel] = kind.name
			}))
		}
		s.Create(pods...)
		s.Await(soon, "every kind of pod to have been asked about", func() (err error) {
			if names, err = r.Names("filter"); err != nil {
				return stage.Never("%w", err)
			}
			if len(names) < len(pods) {
				return errNotYet
			}
			return nil
		})
		require.NoError(t, r.Save(dir))
		saveNodes(s, filepath.Join(dir, "cluster.yaml"))
	})
	return names
}

// recordedScene is five nodes that differ.
func recordedScene(s *stage.Stage) {
	s.Node("plain", stage.Resources("cpu", "4", "memory", "8Gi", "ephemeral-storage", "20Gi"))
	s.Node("zoned", stage.Resources("cpu", "8", "memory", "16Gi", "ephemeral-storage", "20Gi"), func(n *corev1.Node) {
		n.Labels[corev1.LabelTopologyZone] = "east"
		n.Labels["example.com/disk"] = "fast"
	})
	s.Node("accelerated", stage.Resources("cpu", "16", "memory", "32Gi", "example.com/gpu", "2", "hugepages-2Mi", "1Gi"))
	s.Node("dedicated", stage.Resources("cpu", "8", "memory", "16Gi"), stage.Taint("example.com/dedicated"))
	s.Node("cordoned", stage.Resources("cpu", "8", "memory", "16Gi"), func(n *corev1.Node) { n.Spec.Unschedulable = true })
	_, err := s.Plane.Client.SchedulingV1().PriorityClasses().Create(s.Ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "recorded"}, Value: 1000,
	}, metav1.CreateOptions{})
	require.NoError(s.T, err)
	_, err = s.Plane.Client.NodeV1().RuntimeClasses().Create(s.Ctx, &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "boxed"}, Handler: "boxed",
		Overhead: &nodev1.Overhead{PodFixed: stage.Resources("cpu", "250m", "memory", "120Mi")},
	}, metav1.CreateOptions{})
	require.NoError(s.T, err)
}

// saveNodes saves the nodes that the recorded requests are about, as `muster plan` would read them.
func saveNodes(s *stage.Stage, file string) {
	list, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
	require.NoError(s.T, err)
	list.APIVersion, list.Kind = "v1", "NodeList"
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
	}
	text, err := yaml.Marshal(list)
	require.NoError(s.T, err)
	require.NoError(s.T, os.WriteFile(file, text, 0o644))
}
