package replay

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/manifest"
)

const shapes = goldens + "/shaped"

func shopLoad(t *testing.T) (*manifest.Load, *manifest.Shape) {
	t.Helper()
	load, err := manifest.ReadLoad(false, shapes+"/apps.yaml")
	require.NoError(t, err)
	shape, skipped, err := manifest.ReadShape(shapes+"/day.yaml", load, false)
	require.NoError(t, err)
	require.Zero(t, skipped)
	return load, shape
}

func drain(t *testing.T, l Load) []Arrival {
	t.Helper()
	var out []Arrival
	for {
		a, err := l.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, a)
	}
}

// there counts the pods of an owner that came and have not left.
func there(arrivals []Arrival, owner string, at time.Duration) (n int) {
	for _, a := range arrivals {
		if a.Pod.OwnerReferences[0].Name == owner && a.At <= at && at < a.Leaves {
			n++
		}
	}
	return n
}

func TestAShapeIsFollowed(t *testing.T) {
	load, shape := shopLoad(t)
	shaped, err := NewShaped(load, shape, 7)
	require.NoError(t, err)
	require.Positive(t, shaped.Len())
	arrivals := drain(t, shaped)
	require.Len(t, arrivals, shaped.Len())
	last := time.Duration(0)
	for _, a := range arrivals {
		require.GreaterOrEqual(t, a.At, last)
		require.True(t, a.Leaves > a.At || a.Runs > 0)
		require.Equal(t, Scheduler, a.Pod.Spec.SchedulerName)
		last = a.At
	}
	for hour, want := range map[int]int{3: 1, 8: 4, 12: 10, 20: 5, 23 + 4: 1, 24 + 12: 10} {
		require.Equal(t, want, there(arrivals, "web", time.Duration(hour)*time.Hour), "hour %d, points are a few minutes off", hour)
		require.Equal(t, 2, there(arrivals, "db", time.Duration(hour)*time.Hour))
	}
	night, day := 0, 0
	for _, a := range arrivals {
		if a.Runs > 0 {
			if hour := a.At.Hours(); hour >= 1 && hour < 5 || hour >= 25 && hour < 29 {
				night++
			} else {
				day++
			}
		}
	}
	require.InDelta(t, 2*2*4*12, night, 60, "twelve runs an hour of two pods each, four hours of two nights")
	require.InDelta(t, 2*40, day, 40, "one an hour")
}

// The same seed gives the same load, another one another; a workload more leaves the others alone.
func TestShapesAreDecidedByTheirSeed(t *testing.T) {
	load, shape := shopLoad(t)
	one := func(seed int64, load *manifest.Load) []Arrival {
		s, err := NewShaped(load, shape, seed)
		require.NoError(t, err)
		return drain(t, s)
	}
	require.Equal(t, one(7, load), one(7, load))
	require.NotEqual(t, one(7, load), one(8, load))
	more := *load
	more.Workloads = append(more.Workloads, &manifest.Workload{Kind: "Deployment", Namespace: "default", Name: "zzz", Replicas: 1})
	var rest []Arrival
	for _, a := range one(7, &more) {
		if a.Pod.OwnerReferences[0].Name != "zzz" {
			rest = append(rest, a)
		}
	}
	require.Equal(t, one(7, load), rest)
}

func TestStatefulSetsTakeTheirNamesAgain(t *testing.T) {
	two, one := int32(2), int32(1)
	w := &manifest.Workload{Kind: "StatefulSet", Namespace: "default", Name: "db", Replicas: 2}
	at := func(h int) manifest.Moment { return manifest.Moment{Duration: time.Duration(h) * time.Hour} }
	shape := &manifest.Shape{Spec: manifest.ShapeSpec{Length: at(9), Workloads: []manifest.WorkloadShape{
		{Workload: w, Points: []manifest.Point{{At: at(1), Replicas: &one}, {At: at(2), Replicas: &two}}},
	}}}
	s, err := NewShaped(&manifest.Load{Workloads: []*manifest.Workload{w}}, shape, 0)
	require.NoError(t, err)
	got := drain(t, s)
	require.Equal(t, []string{"db-0", "db-1", "db-1"}, []string{got[0].Pod.Name, got[1].Pod.Name, got[2].Pod.Name})
	require.Equal(t, []time.Duration{9 * time.Hour, time.Hour, 9 * time.Hour}, []time.Duration{got[0].Leaves, got[1].Leaves, got[2].Leaves})
}

func TestAShapeHasItsBound(t *testing.T) {
	rate := float64(manifest.MaxPerHour)
	w := &manifest.Workload{Kind: "Job", Namespace: "default", Name: "many", Replicas: 100}
	shape := &manifest.Shape{Spec: manifest.ShapeSpec{Length: manifest.Moment{Duration: 24 * time.Hour}, Workloads: []manifest.WorkloadShape{
		{Workload: w, PerHour: &rate, Runs: &manifest.Runs{Fixed: manifest.Moment{Duration: time.Second}}},
	}}}
	_, err := NewShaped(&manifest.Load{Workloads: []*manifest.Workload{w}}, shape, 0)
	require.ErrorContains(t, err, "more than 5000000 pods")
}

// TestGoldenShape runs the sample under the eyes of a witness.
func TestGoldenShape(t *testing.T) {
	pools, err := manifest.ReadPools(goldens + "/pools.yaml")
	require.NoError(t, err)
	load, shape := shopLoad(t)
	shaped, err := NewShaped(load, shape, 7)
	require.NoError(t, err)
	var start time.Duration
	w, err := New(Options{Pools: pools.Pools, Providers: pools.Providers, Load: shaped, Start: &start})
	require.NoError(t, err)
	newWitness(w).run(t)
	require.Empty(t, w.Summary().Pods.Waiting)
	compare(t, shapes+"/day.json", w.Summary())
}
