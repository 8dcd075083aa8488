package replay

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/manifest"
)

// MaxShaped is the most pods that a shape may make.
const MaxShaped = 5_000_000

// Shaped is a Load of manifests whose pods come and go as a shape says. Every workload draws from a stream of chance of its
// own, so that one more changes nothing about the others. Deployments, ReplicaSets and StatefulSets that get fewer replicas
// lose the youngest; at the shape's end everything goes.
type Shaped struct {
	length time.Duration
	stays  []stay
	next   int
}

// stay is one pod: when it comes, and when it leaves or how long it runs.
type stay struct {
	at, leaves, runs time.Duration
	of               *manifest.Workload
	number           int // of the pod; of the run of a Job
	part             int // of a Job's run
}

// NewShaped works out when which pod comes.
func NewShaped(load *manifest.Load, shape *manifest.Shape, seed int64) (*Shaped, error) {
	s := &Shaped{length: shape.Spec.Length.Duration}
	for _, w := range load.Workloads {
		told := manifest.WorkloadShape{Workload: w}
		if i := slices.IndexFunc(shape.Spec.Workloads, func(t manifest.WorkloadShape) bool { return t.Workload == w }); i >= 0 {
			told = shape.Spec.Workloads[i]
		}
		one := shaping{
			told: told, length: s.length, left: MaxShaped - len(s.stays),
			chance: rand.New(rand.NewPCG(uint64(seed), streamOf(w))), //nolint:gosec // a seed, and no secret
		}
		if w.Lasting() {
			one.lasting()
		} else {
			one.job()
		}
		if one.left < 0 {
			return nil, fmt.Errorf("the shape makes more than %d pods: make length shorter, or fewer pods", MaxShaped)
		}
		s.stays = append(s.stays, one.stays...)
	}
	slices.SortStableFunc(s.stays, func(a, b stay) int { return cmp.Compare(a.at, b.at) })
	return s, nil
}

func streamOf(w *manifest.Workload) uint64 {
	h := fnv.New64a()
	io.WriteString(h, w.String()) //nolint:errcheck // a hash takes everything
	return h.Sum64()
}

// Len is how many pods there are in all.
func (s *Shaped) Len() int { return len(s.stays) }

// Next is the next pod that somebody makes.
func (s *Shaped) Next() (Arrival, error) {
	if s.next == len(s.stays) {
		return Arrival{}, io.EOF
	}
	t := &s.stays[s.next]
	s.next++
	return Arrival{At: t.at, Runs: t.runs, Leaves: t.leaves, Pod: t.pod()}, nil
}

func (t *stay) pod() *corev1.Pod {
	yes := true
	w := t.of
	name, owner := w.Name+"-"+strconv.Itoa(t.number), w.Name
	kind := map[string]string{"Deployment": "ReplicaSet"}[w.Kind]
	if kind == "" {
		kind = w.Kind
	}
	if !w.Lasting() {
		owner = name
		name += "-" + strconv.Itoa(t.part)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Labels: w.Template.Labels, Annotations: w.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID(kind + "/" + w.Namespace + "/" + owner), Controller: &yes,
			}},
		},
		Spec: w.Template.Spec,
	}
	p.Spec.SchedulerName = Scheduler
	return p
}

// shaping is the work on one workload.
type shaping struct {
	told   manifest.WorkloadShape
	length time.Duration
	chance *rand.Rand
	stays  []stay
	left   int // pods that may still be made
}

// level is how much there is of something from a moment on.
type level struct {
	at    time.Duration
	value float64
}

// levels are the changes from the beginning to the end, in order; first is what is there before any.
func (x *shaping) levels(first float64, value func(manifest.Point) float64) []level {
	points, every := x.told.Points, x.told.Every.Duration
	if every > 0 && len(points) > 0 {
		first = value(points[len(points)-1]) // as the day before ended
	}
	all := []level{{0, first}}
	for from := time.Duration(0); from < x.length; from += every {
		for _, p := range points {
			at := from + p.At.Duration + x.jitter()
			if at = max(at, 0); at < x.length {
				all = append(all, level{at, value(p)})
			}
		}
		if every <= 0 {
			break
		}
		if len(all) > MaxShaped {
			x.left = -1
			break
		}
	}
	slices.SortStableFunc(all, func(a, b level) int { return cmp.Compare(a.at, b.at) })
	return all
}

// jitter is drawn for every point, also where there is none, so that a wider one moves the same points further.
func (x *shaping) jitter() time.Duration {
	return inMillis(float64(x.told.Jitter.Duration) * (2*x.chance.Float64() - 1))
}

func inMillis(d float64) time.Duration {
	return time.Duration(math.Round(d/float64(time.Millisecond))) * time.Millisecond
}

// lasting keeps as many pods as there are to be; who came last goes first.
func (x *shaping) lasting() {
	w := x.told.Workload
	var there []int // stays that have not left
	made := 0
	for _, l := range x.levels(float64(w.Replicas), func(p manifest.Point) float64 {
		if p.Replicas != nil {
			return float64(*p.Replicas)
		}
		return math.Min(math.Round(*p.Scale*float64(w.Replicas)), manifest.MaxReplicas)
	}) {
		for want := int(l.value); len(there) > want; {
			last := len(there) - 1
			x.stays[there[last]].leaves = max(l.at, x.stays[there[last]].at+time.Millisecond)
			there = there[:last]
		}
		for len(there) < int(l.value) && x.left >= 0 {
			number := made
			if w.Kind == "StatefulSet" {
				number = len(there) // ordinals come again
			}
			there = append(there, len(x.stays))
			x.make(stay{at: l.at, leaves: x.length, of: w, number: number})
			made++
		}
	}
}

func (x *shaping) make(s stay) {
	x.stays = append(x.stays, s)
	x.left--
}

// job begins runs at times that know nothing of one another (a Poisson process).
func (x *shaping) job() {
	first := 0.0
	if x.told.PerHour != nil {
		first = *x.told.PerHour
	}
	levels := x.levels(first, func(p manifest.Point) float64 { return *p.PerHour })
	for i, l := range levels {
		end := x.length
		if i+1 < len(levels) {
			end = levels[i+1].at
		}
		x.runsBetween(l.at, end, l.value)
	}
}

func (x *shaping) runsBetween(from, to time.Duration, perHour float64) {
	if perHour <= 0 {
		return
	}
	w := x.told.Workload
	for at := from; ; {
		gap := x.chance.ExpFloat64() / perHour * float64(time.Hour)
		if gap >= float64(to-at) || x.left < 0 {
			return
		}
		at += inMillis(gap)
		run := 0
		if n := len(x.stays); n > 0 {
			run = x.stays[n-1].number + 1
		}
		for part := range w.Replicas {
			x.make(stay{at: at, runs: x.duration(), of: w, number: run, part: part})
		}
		if w.Replicas == 0 {
			return
		}
	}
}

// ninety is where the normal distribution has nine tenths of itself below.
const ninety = 1.2815515655446004

// duration draws how long a pod runs.
func (x *shaping) duration() time.Duration {
	r := x.told.Runs
	var d float64
	switch {
	case r.Fixed.Duration > 0:
		d = float64(r.Fixed.Duration)
	case r.Mean.Duration > 0:
		d = x.chance.ExpFloat64() * float64(r.Mean.Duration)
	case r.Median.Duration > 0:
		wide := math.Log(float64(r.P90.Duration)/float64(r.Median.Duration)) / ninety
		d = float64(r.Median.Duration) * math.Exp(wide*x.chance.NormFloat64())
	default:
		d = float64(r.Min.Duration) + x.chance.Float64()*float64(r.Max.Duration-r.Min.Duration)
	}
	return min(max(inMillis(d), time.Millisecond), manifest.MaxLength)
}
