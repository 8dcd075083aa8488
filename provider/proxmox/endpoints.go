package proxmox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-sh/muster/provider/dial"
)

// endpoints are hosts of one cluster: each can answer for all of it. What was certainly not carried out at one is sent to the
// next one; what may have been is not, and only later requests go there. A token is known to its own cluster only, so an
// endpoint of another one answers 401 and is never mistaken for it.
type endpoints struct {
	bases []string            // the first is what requests are made for
	next  []http.RoundTripper // with a breaker for each
	now   func() time.Time

	mu sync.Mutex
	at int // where requests go
}

func newEndpoints(c Config) *endpoints {
	e := &endpoints{now: c.Now}
	for _, url := range append([]string{c.Endpoint}, c.Spec.Endpoints...) {
		e.bases = append(e.bases, strings.TrimSuffix(strings.TrimSuffix(url, "/"), "/api2/json")+"/api2/json")
		e.next = append(e.next, &dial.Breaker{Next: c.Transport, Failures: 5, Cool: 15 * time.Second, Now: c.Now})
	}
	return e
}

// name is an endpoint as the operator wrote it, or nearly so.
func (e *endpoints) name(i int) string { return strings.TrimSuffix(e.bases[i], "/api2/json") }

// proxied is how long pveproxy may take to say that it does not reach a host.
const proxied = 31 * time.Second

// RoundTrip sends a request to the endpoint that served last, and goes on to others while nothing was carried out.
func (e *endpoints) RoundTrip(req *http.Request) (*http.Response, error) {
	if i, only := req.Context().Value(onlyAt{}).(int); only {
		resp, _, err := e.send(req, i)
		return resp, err
	}
	first := e.current()
	var unreached *http.Response // the answer of an endpoint that does not reach the host which the request is for
	var failed []error
	for n := range e.bases {
		i := (first + n) % len(e.bases)
		resp, sent, err := e.send(req, i)
		last := n == len(e.bases)-1 || !again(req)
		switch {
		case err == nil && (resp.StatusCode != statusNotReached || last || !e.inTime(req)):
			forget(unreached)
			if minority(resp) { // it refused; others may have what it lacks
				e.turn(i)
			}
			return resp, nil
		case err == nil:
			forget(unreached)
			unreached = resp
		case sent || req.Context().Err() != nil:
			forget(unreached)
			e.turn(i)
			return nil, err
		default:
			e.turn(i)
			failed = append(failed, e.named(i, err))
		}
		if last {
			break
		}
	}
	if unreached != nil {
		return unreached, nil
	}
	return nil, oneError(failed)
}

// onlyAt is the key of a context whose requests go to one endpoint.
type onlyAt struct{}

// send says whether the request may have reached the endpoint: it has not where the breaker kept it back, or where the
// transport looked for a connection and had none.
func (e *endpoints) send(req *http.Request, i int) (resp *http.Response, sent bool, err error) {
	var looked, had atomic.Bool
	trace := &httptrace.ClientTrace{GetConn: func(string) { looked.Store(true) }, GotConn: func(httptrace.GotConnInfo) { had.Store(true) }}
	out := req.Clone(httptrace.WithClientTrace(req.Context(), trace))
	if i > 0 {
		if out.URL, err = url.Parse(e.bases[i] + strings.TrimPrefix(req.URL.String(), e.bases[0])); err != nil {
			return nil, false, err
		}
		out.Host = ""
	}
	if req.GetBody != nil {
		if out.Body, err = req.GetBody(); err != nil {
			return nil, false, err
		}
	}
	resp, err = e.next[i].RoundTrip(out)
	return resp, !errors.Is(err, dial.ErrOpen) && (had.Load() || !looked.Load()), err
}

// again says that a request can be sent more than once.
func again(req *http.Request) bool {
	return req.Context().Err() == nil && (req.Body == nil || req.Body == http.NoBody || req.GetBody != nil)
}

// inTime says that another endpoint can answer before nobody waits any more: without that, what is known to have been left
// undone would become unknown.
func (e *endpoints) inTime(req *http.Request) bool {
	deadline, limited := req.Context().Deadline()
	return !limited || deadline.Sub(e.now()) > proxied
}

// minority says that an endpoint is cut off from the most of its cluster. The answer can be read as before.
func minority(resp *http.Response) bool {
	if resp.StatusCode != http.StatusInternalServerError {
		return false
	}
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), resp.Body}
	return strings.Contains(resp.Status, "no quorum") || bytes.Contains(text, []byte("no quorum"))
}

type failing struct{ err error }

// Read fails as the answer did.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (e *endpoints) current() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// turn has requests go to the one after this one from now on.
func (e *endpoints) turn(from int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at == from {
		e.at = (from + 1) % len(e.bases)
	}
}

func (e *endpoints) named(i int, err error) error {
	if len(e.bases) == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", e.name(i), err)
}

// oneError tells in one line what every endpoint said.
func oneError(all []error) error {
	switch len(all) {
	case 0:
		return errors.New("no endpoint")
	case 1:
		return all[0]
	}
	format, args := make([]string, len(all)), make([]any, len(all))
	for i, err := range all {
		format[i], args[i] = "%w", err
	}
	return fmt.Errorf(strings.Join(format, "; "), args...)
}

func forget(resp *http.Response) {
	if resp != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
		_ = resp.Body.Close()
	}
}
