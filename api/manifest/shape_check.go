package manifest

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shapeCheck looks for mistakes.
type shapeCheck struct {
	object  object
	shape   *Shape
	load    *Load
	lenient bool
	skipped int
	errs    Errors
}

func (c *shapeCheck) bad(path, format string, args ...any) {
	c.errs = append(c.errs, c.object.problem(path, format, args...))
}

func (c *shapeCheck) check() Errors {
	if c.shape.Name != "" {
		c.errs = append(c.errs, checkMeta(c.object, &c.shape.ObjectMeta, false, validation.NameIsDNSSubdomain)...)
	}
	if l := c.shape.Spec.Length.Duration; l <= 0 || l > MaxLength {
		c.bad("spec.length", "Invalid value: %s: use a duration above zero, at most %s, such as 72h", l, MaxLength)
	}
	seen := map[*Workload]bool{}
	kept := c.shape.Spec.Workloads[:0]
	for i, w := range c.shape.Spec.Workloads {
		at := fmt.Sprintf("spec.workloads[%d]", i)
		if w.Namespace == "" {
			w.Namespace = metav1.NamespaceDefault
		}
		w.Workload = c.load.find(w.Kind, w.Namespace, w.Name)
		switch {
		case w.Workload == nil && c.lenient:
			c.skipped++
			continue
		case w.Workload == nil:
			c.bad(at+".name", "Not found: %s %s/%s: the manifests have %s", w.Kind, w.Namespace, w.Name, c.load.named())
		case seen[w.Workload]:
			c.bad(at+".name", "Duplicate value: %s: give each workload once", w.Workload)
		default:
			seen[w.Workload] = true
			c.checkWorkload(at, &w)
		}
		kept = append(kept, w)
	}
	c.shape.Spec.Workloads = kept
	for _, w := range c.load.Workloads {
		if !w.Lasting() && !seen[w] {
			c.bad("spec.workloads", "Required value: %s (%s:%d): say how often it runs (perHour or points) and how long (runs)", w, w.File, w.Line)
		}
	}
	return c.errs
}

func (c *shapeCheck) checkWorkload(at string, w *WorkloadShape) {
	if w.Every.Duration < 0 || w.Every.Duration > MaxLength {
		c.bad(at+".every", "Invalid value: %s: use a duration above zero, at most %s, such as 24h", w.Every, MaxLength)
	}
	if w.Jitter.Duration < 0 || w.Jitter.Duration > MaxLength {
		c.bad(at+".jitter", "Invalid value: %s: use a duration from 0s to %s, such as 10m", w.Jitter, MaxLength)
	}
	if len(w.Points) > maxPoints {
		c.bad(at+".points", "Too many: %d: at most %d items", len(w.Points), maxPoints)
		return
	}
	if w.Workload.Lasting() {
		c.checkLasting(at, w)
	} else {
		c.checkJob(at, w)
	}
	last := time.Duration(-1)
	for i, p := range w.Points {
		path := fmt.Sprintf("%s.points[%d].at", at, i)
		switch d := p.At.Duration; {
		case d <= last:
			c.bad(path, "Invalid value: %s: use a time after that of the point before", d)
		case w.Every.Duration > 0 && d >= w.Every.Duration || d > MaxLength:
			c.bad(path, "Invalid value: %s: use a time before every (%s)", d, w.Every)
		}
		last = p.At.Duration
	}
}

func (c *shapeCheck) checkLasting(at string, w *WorkloadShape) {
	if w.PerHour != nil {
		c.bad(at+".perHour", "Forbidden: only Jobs run some times an hour: use points with replicas or scale")
	}
	if w.Runs != nil {
		c.bad(at+".runs", "Forbidden: only Jobs run for a time: a %s keeps its pods until there are to be fewer", w.Kind)
	}
	for i, p := range w.Points {
		path := fmt.Sprintf("%s.points[%d]", at, i)
		switch {
		case p.PerHour != nil:
			c.bad(path+".perHour", "Forbidden: only Jobs run some times an hour: use replicas or scale")
		case (p.Replicas == nil) == (p.Scale == nil):
			c.bad(path, "Required value: give either replicas or scale")
		case p.Replicas != nil && (*p.Replicas < 0 || *p.Replicas > MaxReplicas):
			c.bad(path+".replicas", "Invalid value: %d: use a whole number from 0 to %d", *p.Replicas, MaxReplicas)
		case p.Scale != nil && !(*p.Scale >= 0 && *p.Scale <= MaxScale):
			c.bad(path+".scale", "Invalid value: %g: use a factor from 0 to %d", *p.Scale, MaxScale)
		}
	}
}

func (c *shapeCheck) checkJob(at string, w *WorkloadShape) {
	rate := func(path string, v *float64) {
		if v != nil && !(*v >= 0 && *v <= MaxPerHour) {
			c.bad(path, "Invalid value: %g: use runs in an hour from 0 to %d", *v, MaxPerHour)
		}
	}
	rate(at+".perHour", w.PerHour)
	if w.PerHour == nil && len(w.Points) == 0 {
		c.bad(at+".perHour", "Required value: how many runs begin in an hour, or points with perHour")
	}
	for i, p := range w.Points {
		path := fmt.Sprintf("%s.points[%d]", at, i)
		if p.PerHour == nil || p.Replicas != nil || p.Scale != nil {
			c.bad(path, "Required value: a Job's points have at and perHour, and no replicas or scale")
		}
		rate(path+".perHour", p.PerHour)
	}
	switch {
	case w.Runs == nil:
		c.bad(at+".runs", "Required value: how long its pods run: %s", runsForms)
	case !w.Runs.valid():
		c.bad(at+".runs", "Invalid value: use one of %s", runsForms)
	}
}

const runsForms = "{fixed: 5m}, {min: 1m, max: 10m}, {mean: 5m} or {median: 5m, p90: 20m}, from 1ms to 8784h"

// valid says whether the distribution is one of the four.
func (r *Runs) valid() bool {
	given := 0
	for _, m := range []Moment{r.Fixed, r.Min, r.Max, r.Mean, r.Median, r.P90} {
		if m.Duration < 0 || m.Duration > MaxLength || m.Duration > 0 && m.Duration < time.Millisecond {
			return false
		}
		if m.Duration > 0 {
			given++
		}
	}
	switch {
	case r.Fixed.Duration > 0 || r.Mean.Duration > 0:
		return given == 1
	case r.Median.Duration > 0:
		return given == 2 && r.P90.Duration > r.Median.Duration
	}
	return given == 2 && r.Min.Duration > 0 && r.Max.Duration >= r.Min.Duration
}
