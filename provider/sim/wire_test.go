package sim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
)

const goodRequest = `{"claim":"std-000","claimUID":"u1","attempt":1,"resources":{"cpu":"4","memory":"8Gi"}}`

func newTestServer(t *testing.T) (*Server, *Cloud) {
	t.Helper()
	cloud, err := NewCloud(DefaultConfig())
	require.NoError(t, err)
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	return NewServer(cloud, func() time.Time { return now }), cloud
}

func do(s http.Handler, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

func TestBadInputIsRejectedAndMakesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"an empty body":       {"POST", "/machines", "", 400, "EOF"},
		"an empty object":     {"POST", "/machines", "{}", 422, "must be set"},
		"a body cut short":    {"POST", "/machines", goodRequest[:40], 400, "unexpected EOF"},
		"rubbish":             {"POST", "/machines", "\xff\x00", 400, "invalid character"},
		"an unknown field":    {"POST", "/machines", `{"claims":"a"}`, 400, "claims"},
		"two values":          {"POST", "/machines", goodRequest + goodRequest, 400, "more than one"},
		"a broken quantity":   {"POST", "/machines", strings.Replace(goodRequest, `"4"`, `"4 cores"`, 1), 400, "quantit"},
		"a huge body":         {"POST", "/machines", `{"claim":"` + strings.Repeat("a", maxRequest) + `"}`, 413, "larger than"},
		"a deep body":         {"POST", "/machines", strings.Repeat(`{"claim":`, 5000), 400, "decode"},
		"a negative quantity": {"POST", "/machines", strings.Replace(goodRequest, `"4"`, `"-4"`, 1), 422, "negative"},
		"a wrong method":      {"PUT", "/machines", goodRequest, 405, "PUT"},
		"a wrong path":        {"GET", "/machine", "", 404, "no such path"},
	} {
		t.Run(name, func(t *testing.T) {
			server, cloud := newTestServer(t)
			w := do(server, c.method, c.path, c.body)
			require.Equal(t, c.status, w.Code, w.Body.String())
			require.Contains(t, w.Body.String(), c.says)
			require.Empty(t, cloud.List(time.Time{}))
		})
	}
}

func TestTheServerLogsItsCalls(t *testing.T) {
	server, _ := newTestServer(t)
	do(server, "POST", "/machines", goodRequest)
	do(server, "GET", "/machines/nobody", "")
	do(server, "GET", "/machines", "")
	do(server, "DELETE", "/machines/u1?id=std-000&claim=std-001", "")
	var calls []Call
	require.NoError(t, json.Unmarshal(do(server, "GET", "/calls", "").Body.Bytes(), &calls))
	at := server.now()
	require.Equal(t, []Call{
		{At: at, Verb: "create", Claim: "std-000", ClaimUID: "u1", Attempt: 1},
		{At: at, Verb: "get", ClaimUID: "nobody", Code: "NotFound"},
		{At: at, Verb: "list"},
		{At: at, Verb: "delete", Claim: "std-001", ClaimUID: "u1", Code: "Refused"},
	}, calls)
}

func TestTheCallLogForgetsTheOldest(t *testing.T) {
	var l callLog
	for i := range maxCalls + 3 {
		l.add(Call{Attempt: int32(i)}, nil) //nolint:gosec // small
	}
	all := l.all()
	require.Len(t, all, maxCalls)
	require.Equal(t, int32(3), all[0].Attempt)
	require.Equal(t, int32(maxCalls+2), all[maxCalls-1].Attempt)
}

func TestErrorsSurviveTheWire(t *testing.T) {
	for _, e := range wireErrors {
		status, w := toWire(e.err)
		require.ErrorIs(t, fromWire(status, w), e.err)
		require.ErrorIs(t, fromWire(http.StatusTeapot, w), provider.ErrUnknown, "its status and its code must agree")
	}
	require.ErrorIs(t, fromWire(http.StatusNotFound, wireError{}), provider.ErrUnknown, "a 404 alone proves no absence")
}

func TestAListThatIsNotWholeIsUnknown(t *testing.T) {
	const good = `{"id":"a","claim":"a","claimUID":"u","attempt":1,"state":"running","created":"2026-11-21T09:00:00Z"}`
	for name, body := range map[string]string{
		"not marked complete":  `{"machines":[` + good + `]}`,
		"no JSON":              `<html>`,
		"nothing":              ``,
		"a machine twice":      `{"machines":[` + good + `,` + good + `],"complete":true}`,
		"an unknown state":     `{"machines":[` + strings.Replace(good, "running", "paused", 1) + `],"complete":true}`,
		"a machine without ID": `{"machines":[` + strings.Replace(good, `"id":"a"`, `"id":""`, 1) + `],"complete":true}`,
	} {
		list, err := decodeList([]byte(body))
		require.ErrorIs(t, err, provider.ErrUnknown, name)
		require.Empty(t, list, name)
	}
	list, err := decodeList([]byte(`{"machines":[` + good + `],"complete":true}`))
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestAnEndpointMustBeAURL(t *testing.T) {
	for _, bad := range []string{"", "localhost:80", "ftp://a", "http://", "http://a b"} {
		_, err := NewClient(bad, nil, time.Now)
		require.Error(t, err, bad)
	}
}

func FuzzServer(f *testing.F) {
	f.Add("POST", "/machines", goodRequest)
	f.Add("GET", "/machines/u1", "")
	f.Add("DELETE", "/machines/u1?id=std-000&claim=std-000", "")
	f.Add("GET", "/machines/%2F%zz", "{}")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		r, err := http.NewRequest(method, path, strings.NewReader(body))
		if err != nil || r.URL.Path == "" || strings.HasPrefix(path, "/calls") {
			return
		}
		server, cloud := newTestServer(t)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code != http.StatusOK && len(cloud.List(time.Time{})) > 0 {
			t.Fatalf("answered %d and made a machine", w.Code)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("answered %d with no JSON: %q", w.Code, w.Body)
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"id":"a","claim":"a","claimUID":"u","attempt":1,"state":"running","created":"2026-11-21T09:00:00Z"}`))
	f.Add([]byte(`{"machines":[],"complete":true}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if m, err := decodeMachine(answer); err == nil && (m.ClaimUID == "" || m.ID == "" || m.Attempt < 1) {
			t.Fatalf("half a machine: %+v", m)
		}
		list, err := decodeList(answer)
		for _, m := range list {
			if err != nil || m.ClaimUID == "" || m.ID == "" {
				t.Fatalf("half a list: %+v %v", list, err)
			}
		}
	})
}
