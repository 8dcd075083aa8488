package replay

import (
	"math"
	"time"

	"github.com/muster-sh/muster/api/manifest"
)

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
