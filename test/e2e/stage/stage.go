// Package stage sets the scene of one story: a namespace, pools, a simulated backend, replicas of Muster and
// kube-scheduler, and the witnesses; and it clears all of it away afterwards, so that the next story finds an empty
// cluster. It judges nothing but what every story promises: no overbooked node, no doubled machine, no dead process.
package stage

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/test/e2e/controlplane"
	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// storyDeadline bounds one story as a whole; every wait in it has its own, shorter one. A story of many parts may take as
// long as the test program, but for the time to clear away.
const (
	storyDeadline = 30 * time.Minute
	clearing      = time.Minute
)

func deadline(t testing.TB) time.Time {
	if of, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, limited := of.Deadline(); limited {
			return end.Add(-clearing)
		}
	}
	return time.Now().Add(storyDeadline)
}

// Stage is the scene of one story.
type Stage struct {
	T         testing.TB
	Ctx       context.Context
	Kit       *shipped.Kit
	Plane     *controlplane.Plane
	Namespace string
	Logs      string // folder of this story's log files
	Sim       *shipped.Sim
	Diary     *witness.Diary

	overbooking *witness.Overbooking
	machinery   Machinery
	machines    *witness.Machines
	services    []*shipped.Service
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// New sets up a namespace and the witnesses. Everything is cleared away when the test ends.
func New(t testing.TB, kit *shipped.Kit) *Stage {
	t.Helper()
	s := NewUnwatched(t, kit)
	s.overbooking = witness.WatchOverbooking(s.Ctx, s.Plane.Client)
	return s
}

// NewUnwatched is New without the witness of overbooking, which reads all nodes every second: measurements of large
// clusters would measure it too.
func NewUnwatched(t testing.TB, kit *shipped.Kit) *Stage {
	t.Helper()
	name := strings.TrimPrefix(strings.TrimPrefix(t.Name(), "Test"), "Benchmark")
	name = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
	name = strings.Trim(name[:min(len(name), 50)], "-")
	ctx, cancel := context.WithDeadline(context.Background(), deadline(t))
	s := &Stage{T: t, Ctx: ctx, Kit: kit, Plane: kit.Plane, Namespace: name, Logs: filepath.Join(kit.Plane.Logs, name)}
	require.NoError(t, os.MkdirAll(s.Logs, 0o755))
	require.NoError(t, kit.Plane.Failed())
	_, err := s.Plane.Client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.Await(30*time.Second, "the namespace's ServiceAccount", func() error {
		_, err := s.Plane.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	s.Diary = witness.KeepDiary(ctx, s.Plane.Client, name)
	t.Cleanup(func() {
		s.judge()
		cancel() // nobody registers a node any more that was swept away
		s.clear()
	})
	return s
}

// For is the same stage for a part of its test: what fails there fails that part.
func (s *Stage) For(t testing.TB) *Stage {
	part := *s
	part.T = t
	return &part
}

// judge asks the witnesses. It runs before anything is cleared away.
func (s *Stage) judge() {
	if s.overbooking != nil {
		found, err := s.overbooking.Verdict(s.Ctx)
		s.verdict("overbooking", s.overbooking.Figures(), found, err)
	}
	if s.machines != nil {
		found, err := s.machines.Verdict(s.Ctx)
		s.verdict("machines", s.machines.Figures(), found, err)
	}
	s.Diary.Close()
	if err := s.Plane.Failed(); err != nil {
		s.T.Errorf("the control plane did not live through the story: %v", err)
	}
	if s.T.Failed() {
		s.Plane.Keep()
		s.snapshot()
		s.T.Logf("logs and a snapshot of the cluster are in %s", s.Logs)
	}
}

func (s *Stage) verdict(what, figures string, found []string, err error) {
	s.T.Logf("%s: %s", what, figures)
	if err != nil {
		s.T.Errorf("the witness of %s cannot vouch for the story: %v", what, err)
	}
	for _, finding := range found {
		s.T.Errorf("%s: %s", what, finding)
	}
}

// snapshot saves what the cluster looked like when the story failed.
func (s *Stage) snapshot() {
	text, err := s.Plane.Kubectl(s.Ctx, "get", "pods,events,nodes,nodepools,nodeclaims,providers,leases", "-A", "-o", "yaml")
	if err != nil {
		text += err.Error()
	}
	_ = os.WriteFile(filepath.Join(s.Logs, "cluster.yaml"), []byte(text), 0o644)
	table, _ := s.Plane.Kubectl(s.Ctx, "get", "pods,nodes,nodepools,nodeclaims,providers", "-A", "-o", "wide")
	_ = os.WriteFile(filepath.Join(s.Logs, "cluster.txt"), []byte(table), 0o644)
}
