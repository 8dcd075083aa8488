package extender_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/extender"
)

func TestEveryAnswerHasALength(t *testing.T) {
	server := httptest.NewServer(extender.New(config(smallWorld())))
	defer server.Close()
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("node-%04d", i)
	}
	long := encode(t, named(workload("web", "1", "1Gi"), names...))
	for path, body := range map[string][]byte{
		"/place/filter": long, "/place/prioritize": long, "/guard/filter": long, "/guard/prioritize": long,
		"/guard/preempt": []byte(`{"Pod":` + onePod + `,"NodeNameToMetaVictims":{}}`), "/nowhere": long,
	} {
		response, err := http.Post(server.URL+path, "application/json", bytes.NewReader(body))
		require.NoError(t, err)
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, int64(len(answer)), response.ContentLength, path)
		require.Empty(t, response.TransferEncoding, path)
	}
}

func TestOneCallTooManyIsRefused(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	registry := prometheus.NewRegistry()
	cfg := config(&fakeCore{place: func(context.Context) { entered <- struct{}{}; <-leave }})
	cfg.MaxInFlight, cfg.Registerer = 2, registry
	h := extender.New(cfg)
	body := encode(t, named(workload("web", "1", "1Gi"), "open"))
	done := make(chan int, 2)
	for range 2 {
		go func() { done <- post(h, "/place/filter", body).Code }()
		<-entered
	}
	w := post(h, "/guard/filter", body)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	requireErrorText(t, w.Body.Bytes())
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP muster_extender_in_flight_requests Calls being answered now.
# TYPE muster_extender_in_flight_requests gauge
muster_extender_in_flight_requests 2
`), "muster_extender_in_flight_requests"))
	close(leave)
	require.Equal(t, http.StatusOK, <-done)
	require.Equal(t, http.StatusOK, <-done)
	require.Equal(t, http.StatusOK, post(h, "/guard/filter", body).Code, "there is room again")
}

func TestPanicIsAnErrorOfOneCall(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	cfg := config(&fakeCore{place: func(context.Context) { panic("no such thing") }})
	cfg.Logger, cfg.Registerer, cfg.MaxInFlight = slog.New(slog.NewTextHandler(&log, nil)), registry, 1
	h := extender.New(cfg)
	body := encode(t, named(workload("web", "1", "1Gi"), "open"))
	for range 2 { // the second call finds the place of the first one free
		w := post(h, "/place/filter", body)
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.NotContains(t, requireErrorText(t, w.Body.Bytes()), "no such thing")
	}
	require.Contains(t, log.String(), "no such thing")
	require.Contains(t, log.String(), "placer")
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP muster_extender_panics_total Calls that ended in a panic.
# TYPE muster_extender_panics_total counter
muster_extender_panics_total 2
# HELP muster_extender_requests_total Calls answered, by verb and HTTP status.
# TYPE muster_extender_requests_total counter
muster_extender_requests_total{code="500",verb="place/filter"} 2
`), "muster_extender_panics_total", "muster_extender_requests_total"))
}

func TestUnreadyAndUnsettled(t *testing.T) {
	cold, unsettled := errors.New("caches are not warm"), errors.New("a pod was bound 1s ago without our answer")
	body := encode(t, named(workload("web", "1", "1Gi"), "open"))
	preemption := []byte(`{"Pod":` + onePod + `,"NodeNameToMetaVictims":{}}`)
	for _, c := range []struct {
		name           string
		ready, settled error
		closed         []string
		text           string
	}{
		{"cold caches close every verb", cold, nil, append([]string{"/readyz"}, allVerbs...), cold.Error()},
		{"an unsettled view closes the place filter only", nil, unsettled, []string{"/place/filter"}, unsettled.Error()},
		{"a warm and settled one closes nothing", nil, nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			core := &fakeCore{}
			cfg := config(core)
			cfg.Ready, cfg.Settled = func() error { return c.ready }, func() error { return c.settled }
			h := extender.New(cfg)
			answers := map[string]*httptest.ResponseRecorder{"/readyz": get(h, "/readyz"), "/guard/preempt": post(h, "/guard/preempt", preemption)}
			for _, path := range argsVerbs {
				answers[path] = post(h, path, body)
			}
			for _, path := range c.closed {
				require.Equal(t, http.StatusServiceUnavailable, answers[path].Code, path)
				require.Equal(t, c.text, requireErrorText(t, answers[path].Body.Bytes()))
				delete(answers, path)
			}
			for path, w := range answers {
				require.Equal(t, http.StatusOK, w.Code, path)
			}
			require.Equal(t, http.StatusOK, get(h, "/healthz").Code, "alive is not ready")
		})
	}
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestACallEndsWithItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(&fakeCore{place: func(ctx context.Context) { <-ctx.Done() }})
		cfg.Timeout = 2 * time.Second
		start := time.Now()
		w := post(extender.New(cfg), "/place/filter", encode(t, named(workload("web", "1", "1Gi"), "open")))
		require.Equal(t, 2*time.Second, time.Since(start))
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
	})
}

func TestRefusalsAreCountedByReason(t *testing.T) {
	registry := prometheus.NewRegistry()
	cfg := config(smallWorld())
	cfg.Registerer, cfg.MaxBody = registry, 100
	h := extender.New(cfg)
	post(h, "/place/filter", []byte(`{}`))
	post(h, "/place/filter", make([]byte, 101))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP muster_extender_refused_total Calls that got no decision, by reason.
# TYPE muster_extender_refused_total counter
muster_extender_refused_total{reason="bad_request"} 1
muster_extender_refused_total{reason="too_large"} 1
`), "muster_extender_refused_total"))
}
