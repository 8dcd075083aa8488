package main

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// proxmoxMetrics time the requests to Proxmox VE, each one that is sent: repeated ones count again. A nil one measures nothing.
type proxmoxMetrics struct{ requests *prometheus.HistogramVec }

func newProxmoxMetrics(r prometheus.Registerer) *proxmoxMetrics {
	m := &proxmoxMetrics{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "muster_proxmox_request_duration_seconds", Help: "Requests to the Proxmox VE API by operation and HTTP status.",
		Buckets: prometheus.ExponentialBuckets(0.002, 4, 9),
	}, []string{"provider", "operation", "code"})}
	r.MustRegister(m.requests)
	return m
}

// through measures what goes through a transport.
func (m *proxmoxMetrics) through(provider string, next http.RoundTripper) http.RoundTripper {
	if m == nil {
		return next
	}
	return &timed{provider: provider, metrics: m, next: next}
}

type timed struct {
	provider string
	metrics  *proxmoxMetrics
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *timed) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := t.next.RoundTrip(r)
	code := "none"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
	}
	t.metrics.requests.WithLabelValues(t.provider, proxmoxOperation(r.Method, r.URL.Path), code).Observe(time.Since(start).Seconds())
	return resp, err
}

// proxmoxOperation names what a request does, without the numbers and names in its path.
func proxmoxOperation(method, path string) string {
	_, path, _ = strings.Cut(path, "/api2/json/")
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	switch {
	case parts[0] != "nodes" && method == http.MethodGet:
		return last // version, resources, permissions
	case strings.Contains(path, "/tasks"):
		return "task"
	case method == http.MethodDelete && len(parts) == 4:
		return "destroy"
	case method == http.MethodGet && (last == "config" || last == "current"):
		return "read"
	case last == "config":
		return "configure"
	case last == "clone", last == "start", last == "stop", last == "shutdown", last == "resize", last == "upload":
		return last
	}
	return "other"
}
