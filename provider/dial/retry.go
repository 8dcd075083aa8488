package dial

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// Retry sends a request again that changes nothing (GET without a body) when its answer was lost. Everything else is sent
// once: whether it was carried out is for the caller to find out.
type Retry struct {
	Next http.RoundTripper
	// Attempts bounds how often a request is sent, the first time included.
	Attempts int
	// First is the wait before the second attempt; each further one is twice as long. Half of a wait is chance.
	First time.Duration
}

// RoundTrip sends a request once or more.
func (r *Retry) RoundTrip(req *http.Request) (*http.Response, error) {
	safe := req.Method == http.MethodGet && (req.Body == nil || req.Body == http.NoBody)
	for attempt := 1; ; attempt++ {
		resp, err := r.Next.RoundTrip(req)
		if err == nil || !safe || attempt >= r.Attempts || req.Context().Err() != nil {
			return resp, err
		}
		if Wait(req.Context(), Jitter(r.First<<(attempt-1))) != nil {
			return nil, err
		}
	}
}

// Jitter takes up to half of a wait off, so that those who failed together do not come back together.
func Jitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Float64()*float64(d)/2) //nolint:gosec // no secret depends on it
}

// Wait waits, or returns the error of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
