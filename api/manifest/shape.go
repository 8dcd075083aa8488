package manifest

import (
	"errors"
	"strconv"
	"strings"
	"time"

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
