package stories

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// trap holds one request, before or after it is carried out, so that a story can kill Muster exactly there.
type trap struct {
	mu     sync.Mutex
	set    *snare
	caught chan struct{}
}

// snare says which request is held.
type snare struct {
	method, suffix string
	part           string // of the path
	after          bool   // the request is carried out, and its answer is never sent
	skip           int    // so many matching requests pass first
}

// lay sets the trap; the channel is closed when a request is held.
func (t *trap) lay(s snare) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set, t.caught = &s, make(chan struct{})
	return t.caught
}

// spring says whether this request is the one.
func (t *trap) spring(r *http.Request) (caught chan struct{}, after, held bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set == nil || r.Method != t.set.method || !strings.HasSuffix(r.URL.Path, t.set.suffix) || !strings.Contains(r.URL.Path, t.set.part) {
		return nil, false, false
	}
	if t.set.skip > 0 {
		t.set.skip--
		return nil, false, false
	}
	after = t.set.after
	t.set = nil
	return t.caught, after, true
}

// serve answers, unless the request is held: then it ends when whoever sent it is gone.
func (t *trap) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	caught, after, held := t.spring(r)
	if !held {
		next.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body) // a server notices that its client is gone only when it has read everything
	r.Body = io.NopCloser(bytes.NewReader(body))
	if after {
		next.ServeHTTP(httptest.NewRecorder(), r)
	}
	close(caught)
	<-r.Context().Done()
}
