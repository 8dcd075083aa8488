package extender

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/muster-sh/muster/capacity"
)

// refusal is a call that gets no decision: an HTTP status, one word for the metric, and a text for people. For
// kube-scheduler any status but 200 is an error of the scheduler, so the pod is tried again and not called unschedulable.
type refusal struct {
	status int
	cause  cause
	text   string
}

func (r *refusal) Error() string { return r.text }

// bad refuses what the caller sent, naming the field.
func bad(field, format string, args ...any) error {
	return &refusal{http.StatusBadRequest, causeBadRequest, field + ": " + fmt.Sprintf(format, args...)}
}

func unready(err error) *refusal {
	return &refusal{http.StatusServiceUnavailable, causeUnready, err.Error()}
}

// refusalOf reads any error of a verb as a refusal.
func refusalOf(err error) *refusal {
	var known *refusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, capacity.ErrSuperseded):
		return &refusal{http.StatusServiceUnavailable, causeSuperseded, err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{http.StatusServiceUnavailable, causeDeadline, "the call took too long"}
	case errors.Is(err, context.Canceled):
		return &refusal{http.StatusServiceUnavailable, causeCallerGone, "the caller went away"}
	}
	return &refusal{http.StatusInternalServerError, causeInternal, err.Error()}
}

// unread tells why a body could not be read.
func unread(err error, limit int64) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.DeadlineExceeded
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad("body", "it ended before its announced length")
	}
	return &refusal{http.StatusBadRequest, causeUnread, "body: " + err.Error()}
}

func tooLarge(limit int64) *refusal {
	return &refusal{http.StatusRequestEntityTooLarge, causeTooLarge, fmt.Sprintf("body: larger than %d bytes", limit)}
}

// writeError answers {"error": text}.
func writeError(w http.ResponseWriter, status int, text string) {
	body, err := json.Marshal(map[string]string{"error": text})
	if err != nil { // a map of strings cannot fail to encode
		body = []byte(`{"error":"unknown"}`)
	}
	write(w, status, "application/json", append(body, '\n'))
}

// write sends a whole answer with its length: without one, kube-scheduler opens a new connection for the next call after
// every answer of more than some 10 KB. A write that fails has nobody left to hear of it.
func write(w http.ResponseWriter, status int, mediaType string, body []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
