package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shape says how the pods of a Load come and go over time. docs/replay.md describes the file.
type Shape struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ShapeSpec `json:"spec"`
}

// ShapeSpec is the load's time.
type ShapeSpec struct {
	// Length is how long the load lasts: then everything goes.
	Length Moment `json:"length"`
	// Workloads say what becomes of each; one that is left out has its replicas from the beginning to the end.
	Workloads []WorkloadShape `json:"workloads,omitempty"`
}

// WorkloadShape is one workload's time.
type WorkloadShape struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Every is after how long the points come again; without it they come once.
	Every Moment `json:"every,omitempty"`
	// Jitter moves every point by as much as this, to either side, by the seed.
	Jitter Moment `json:"jitter,omitempty"`
	// PerHour is how many runs of a Job begin in an hour, at times of their own; points may change it.
	PerHour *float64 `json:"perHour,omitempty"`
	// Runs is how long a Job's pods run.
	Runs   *Runs   `json:"runs,omitempty"`
	Points []Point `json:"points,omitempty"`

	// Workload is the object that is meant.
	Workload *Workload `json:"-"`
}

// Point is a change: one of its values is given.
type Point struct {
	At Moment `json:"at"`
	// Replicas is how many there are from then on, Scale as a factor of what the manifest says.
	Replicas *int32   `json:"replicas,omitempty"`
	Scale    *float64 `json:"scale,omitempty"`
	// PerHour is how many runs of a Job begin in an hour from then on.
	PerHour *float64 `json:"perHour,omitempty"`
}

// Runs is a distribution of durations: a fixed one; any between two; a mean (exponential); a median and the time that one in
// ten exceeds (log-normal).
type Runs struct {
	Fixed  Moment `json:"fixed,omitempty"`
	Min    Moment `json:"min,omitempty"`
	Max    Moment `json:"max,omitempty"`
	Mean   Moment `json:"mean,omitempty"`
	Median Moment `json:"median,omitempty"`
	P90    Moment `json:"p90,omitempty"`
}

// Moment is a duration such as 90m or 24h, or a time of the day such as 08:00.
type Moment struct{ time.Duration }

// UnmarshalJSON reads either form.
func (m *Moment) UnmarshalJSON(text []byte) error {
	s, err := strconv.Unquote(string(text))
	if err != nil {
		return errMoment
	}
	if hour, minute, clock := strings.Cut(s, ":"); clock {
		h, err := strconv.ParseUint(hour, 10, 8)
		n, err2 := strconv.ParseUint(minute, 10, 8)
		if err != nil || err2 != nil || h > 24 || n > 59 || h == 24 && n > 0 || len(minute) != 2 {
			return errMoment
		}
		m.Duration = time.Duration(h)*time.Hour + time.Duration(n)*time.Minute
		return nil
	}
	m.Duration, err = time.ParseDuration(s)
	if err != nil {
		return errMoment
	}
	return nil
}

// MarshalJSON writes a duration.
func (m Moment) MarshalJSON() ([]byte, error) { return []byte(strconv.Quote(m.String())), nil }

var errMoment = errors.New("neither a duration nor a time of the day")

// The bounds of a shape.
const (
	MaxLength  = 366 * 24 * time.Hour
	MaxPerHour = 100_000
	MaxScale   = 1000
	maxPoints  = 10_000

	shapeVersion = "muster.sh/v1alpha1"
	shapeKind    = "LoadShape"
	maxShape     = 4 << 20
)

// ReadShape reads the shape of a load from a file; "-" is standard input. The error is of type Errors where the content is at
// fault. A lenient reader leaves out what is said of workloads that the load has not, and counts them.
func ReadShape(path string, load *Load, lenient bool) (*Shape, int, error) {
	sources, err := open([]string{path}, maxShape)
	if err != nil {
		return nil, 0, err
	}
	return readShape(sources, load, lenient)
}

func readShape(sources []source, load *Load, lenient bool) (*Shape, int, error) {
	var shape *Shape
	var errs Errors
	skipped := 0
	for _, s := range sources {
		objects, problems := s.objects()
		errs = append(errs, problems...)
		for _, o := range objects {
			switch {
			case o.groupKind() != shapeKind+".muster.sh" || o.apiVersion != shapeVersion:
				errs = append(errs, o.problem("kind", "Unsupported value: %q of %s: use kind %s of %s", o.kind, o.apiVersion, shapeKind, shapeVersion))
			case shape != nil:
				errs = append(errs, o.problem("", "a second %s: give one", shapeKind))
			default:
				read, problems := decode[Shape](o)
				errs = append(errs, problems...)
				if len(problems) == 0 {
					c := shapeCheck{object: o, shape: read, load: load, lenient: lenient}
					errs = append(errs, c.check()...)
					shape, skipped = read, c.skipped
				}
			}
		}
	}
	if err := errs.orNil(sources); err != nil {
		return nil, 0, err
	}
	if shape == nil {
		return nil, 0, Errors{{File: sources[0].file, Problem: "no " + shapeKind + " in it"}}
	}
	return shape, skipped, nil
}

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
