package extender

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// cause says in one word why a call was not answered: the label of the metric and the field of the log.
type cause string

const (
	causeInFlight   cause = "in_flight"
	causeMediaType  cause = "media_type"
	causeTooLarge   cause = "too_large"
	causeBadRequest cause = "bad_request"
	causeUnready    cause = "not_ready"
	causeSuperseded cause = "superseded"
	causeDeadline   cause = "deadline"
	causeCallerGone cause = "caller_gone"
	causeInternal   cause = "internal"
	causeUnread     cause = "body_unread"
)

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refused  *prometheus.CounterVec
	panics   prometheus.Counter
}

func newMetrics(r prometheus.Registerer) metrics {
	f := promauto.With(r)
	return metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_extender_requests_total", Help: "Calls answered, by verb and HTTP status.",
		}, []string{"verb", "code"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "muster_extender_request_duration_seconds",
			Help:    "Time from a call's arrival to its answer, by verb.",
			Buckets: prometheus.ExponentialBuckets(float64(125*time.Microsecond)/float64(time.Second), 2, 16),
		}, []string{"verb"}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Name: "muster_extender_in_flight_requests", Help: "Calls being answered now.",
		}),
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_extender_refused_total", Help: "Calls that got no decision, by reason.",
		}, []string{"reason"}),
		panics: f.NewCounter(prometheus.CounterOpts{
			Name: "muster_extender_panics_total", Help: "Calls that ended in a panic.",
		}),
	}
}
