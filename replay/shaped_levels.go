package replay

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/manifest"
)

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
