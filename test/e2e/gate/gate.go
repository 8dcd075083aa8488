// Package gate stands between Muster and what it writes to: the API server and the machine backend. It changes nothing; it
// counts the writes by which a machine is given back, and tells the story of each when it has been carried out and Muster
// does not know yet. What the story does then happens at exactly that step: Muster killed there has written this and
// nothing after it.
package gate

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"
)

// Gate counts writes and passes everything on.
type Gate struct {
	mu    sync.Mutex
	count int
	at    int
	do    func(step string)
	seen  []string
}

// Arm has something done at the nth write of a release from now on, once. What is done ends before Muster is answered.
func (g *Gate) Arm(n int, do func(step string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count, g.at, g.do, g.seen = 0, n, do, nil
}

// Disarm takes that back and returns the writes since then.
func (g *Gate) Disarm() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.do = nil
	return g.seen
}

// Front serves what target does, and returns the URL. With a certificate it serves TLS.
func (g *Gate) Front(t testing.TB, target string, trust *tls.Config, certificates []tls.Certificate) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatalf("gate before %q: %v", target, err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1 // watches
	proxy.Transport = &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: 100}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	proxy.ModifyResponse = g.written
	front := httptest.NewUnstartedServer(proxy)
	front.Config.ErrorLog = log.New(io.Discard, "", 0) // who is killed hangs up
	t.Cleanup(func() { _ = front.Config.Close() })     // a watch ends with nobody
	if certificates == nil {
		front.Start()
		return front.URL
	}
	front.TLS = &tls.Config{Certificates: certificates}
	front.StartTLS()
	return front.URL
}

// written is called when a request has been carried out, before the answer is passed on.
func (g *Gate) written(answer *http.Response) error {
	step := Step(answer.Request.Method, answer.Request.URL.Path)
	if step == "" || answer.StatusCode >= http.StatusBadRequest {
		return nil
	}
	if do := g.take(step); do != nil {
		do(step)
	}
	return nil
}

func (g *Gate) take(step string) func(string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
	g.seen = append(g.seen, step)
	if g.do == nil || g.count != g.at {
		return nil
	}
	do := g.do
	g.do = nil
	return do
}

// steps are the writes of a release.
var steps = []struct {
	method string
	path   *regexp.Regexp
	name   string
}{
	{http.MethodPut, regexp.MustCompile(`/nodeclaims/[^/]+$`), "write the claim"},
	{http.MethodPut, regexp.MustCompile(`/nodeclaims/[^/]+/status$`), "write the claim's status"},
	{http.MethodDelete, regexp.MustCompile(`/nodeclaims/[^/]+$`), "delete the claim"},
	{http.MethodPatch, regexp.MustCompile(`/nodes/[^/]+$`), "mark the node"},
	{http.MethodDelete, regexp.MustCompile(`/nodes/[^/]+$`), "delete the node"},
	{http.MethodPost, regexp.MustCompile(`/pods/[^/]+/eviction$`), "evict a pod"},
	{http.MethodDelete, regexp.MustCompile(`^/machines/`), GiveBack},
}

// GiveBack is the call of the provider: what comes before it can be undone.
const GiveBack = "give the machine back"

// Step names a request that is a step of a release; all others have no name.
func Step(method, path string) string {
	for _, s := range steps {
		if s.method == method && s.path.MatchString(path) {
			return s.name
		}
	}
	return ""
}
