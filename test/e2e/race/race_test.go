package race

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// makers is how many hands make pods at once; each has one pod at a time. They come in tides, so that many nodes fall idle
// together; steady ones of them know no tide, so that there is never a moment without pods coming.
const (
	makers = 60
	steady = 8
	tide   = 8 * time.Second
	flood  = 4 * time.Second
)

func TestPodsComeWhileNodesGoInPlaceMode(t *testing.T) {
	s, r := scene(t)
	s.Place(stage.ReplicaOptions{Config: func(c shipped.SchedulerConfig) shipped.SchedulerConfig {
		return c.WithLease(2*time.Minute, 100*time.Second, 2*time.Second) // a busy computer is not part of the story
	}})
	late := race(s, r)
	require.Empty(t, late, "no pod is bound to a node after it was closed for it")
}

// In guard mode the scheduler binds what it had decided before the veto. Such a pod takes the release back.
func TestPodsComeWhileNodesGoInGuardMode(t *testing.T) {
	s, r := scene(t)
	s.Guarded(stage.ReplicaOptions{})
	late := race(s, r, stage.WithScheduler(corev1.DefaultSchedulerName))
	t.Logf("%d pods were bound to a node that was being closed, and stayed there", len(late))
}

func scene(t *testing.T) (*stage.Stage, *witness.Releases) {
	s := stage.New(t, kit)
	s.Backend("--boot-min=100ms", "--boot-median=200ms", "--boot-max=500ms", "--delete-time=100ms")
	s.Apply(stage.Pool("race", makers, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{}}
	}))
	s.Node("small", stage.Resources("cpu", "1", "memory", "4Gi"))
	c, err := client.NewWithWatch(s.Plane.Admin, client.Options{Scheme: s.Plane.Objects.Scheme()})
	require.NoError(t, err)
	return s, witness.WatchReleases(s.Ctx, c)
}

// race has pods come and go until enough machines were given back, and returns which were bound late.
func race(s *stage.Stage, r *witness.Releases, edits ...func(*corev1.Pod)) (late []string) {
	ctx, cancel := context.WithCancel(s.Ctx)
	begin := time.Now()
	var hands sync.WaitGroup
	for hand := range makers {
		hands.Go(func() {
			random := rand.New(rand.NewPCG(uint64(hand), 1))
			for n := 0; ctx.Err() == nil; n++ {
				if ebb := time.Since(begin) % tide; hand >= steady && ebb > flood {
					rest(ctx, tide-ebb)
				}
				comeAndGo(ctx, s, r, random, fmt.Sprintf("pod-%d-%d", hand, n), edits)
			}
		})
	}
	s.Await(time.Duration(10+*releases/10)*time.Minute, "the releases", func() error {
		if begun, back, out, bound := r.Counts(); out < *releases {
			return fmt.Errorf("%d releases begun, %d taken back, %d carried out, %d pods bound", begun, back, out, bound)
		}
		return nil
	})
	cancel()
	hands.Wait()
	begun, back, out, bound := r.Counts()
	found, err := r.Verdict()
	require.NoError(s.T, err)
	s.T.Logf("%s: %d releases begun, %d taken back, %d machines given back; %d pods bound, %d deleted before; %d bound late, %d killed",
		time.Since(begin).Round(time.Second), begun, back, out, bound, found.Pending, len(found.Late), len(found.Killed))
	require.Empty(s.T, found.Killed, "no pod is killed without eviction")
	return found.Late
}

// comeAndGo is one pod's life. Some are deleted before they run, most after a while; then there is a pause in which the node
// is idle. The pause is the race: another pod may come at any step of the node's release.
func comeAndGo(ctx context.Context, s *stage.Stage, r *witness.Releases, random *rand.Rand, name string, edits []func(*corev1.Pod)) {
	pods := s.Plane.Client.CoreV1().Pods(s.Namespace)
	p := create(ctx, pods, s.Pod(name, stage.Resources("cpu", "1500m"), edits...))
	if p == nil {
		return // the race is over
	}
	rest(ctx, time.Duration(random.Int64N(int64(3*time.Second))))
	r.Ours(p.UID)
	remove(s, pods, p.Name)
	rest(ctx, time.Duration(random.Int64N(int64(2*time.Second))))
}

// create asks again where the API server is busy: a pod whose creation was not answered may be there, and would hold a node that
// nobody ever empties.
func create(ctx context.Context, pods typedcorev1.PodInterface, pod *corev1.Pod) *corev1.Pod {
	for ctx.Err() == nil {
		p, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			p, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
		}
		if err == nil {
			return p
		}
		rest(ctx, time.Second)
	}
	return nil
}

// remove deletes a pod at once. A busy API server is asked again: a pod that is left would hold its node for ever.
func remove(s *stage.Stage, pods typedcorev1.PodInterface, name string) {
	now := int64(0)
	for {
		err := client.IgnoreNotFound(pods.Delete(s.Ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
		if err == nil {
			return
		}
		if s.Ctx.Err() != nil {
			s.T.Errorf("delete pod %s: %v", name, err)
			return
		}
		rest(s.Ctx, time.Second)
	}
}

// rest is the story itself: pods live and are away for random times.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
