// Package recorder stands between kube-scheduler and Muster and keeps what the scheduler really sends. It changes
// nothing: requests and answers pass as they are.
package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"sort"
	"sync"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// KindLabel on a pod names what is special about it; it names the file too.
const KindLabel = "e2e.muster.sh/kind"

// Recording is one request as it is saved.
type Recording struct {
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request"`
}

// Recorder is a reverse proxy that remembers the first request of every verb and kind of pod.
type Recorder struct {
	form  string // what the file names end in
	proxy http.Handler

	mu    sync.Mutex
	first map[string]Recording // by file name without its ending
	err   error
}

// New makes a recorder; Forward says in front of what.
// The form, such as "names" for requests with node names only, ends the file names.
func New(form string) *Recorder { return &Recorder{form: form, first: map[string]Recording{}} }

// Forward makes the recorder pass everything on to target; transport may be nil for the default. It must be called
// before the first request.
func (r *Recorder) Forward(target *url.URL, transport http.RoundTripper) {
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	r.proxy = proxy
}

func (r *Recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.note(request.URL.Path, body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	r.proxy.ServeHTTP(w, request)
}

// note keeps the request when it is the first of its kind. A pod without the label is not recorded.
func (r *Recorder) note(urlPath string, body []byte) {
	var args extenderv1.ExtenderArgs
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := json.Unmarshal(body, &args); err != nil {
		r.err = fmt.Errorf("kube-scheduler sent %s a body that is no ExtenderArgs: %w", urlPath, err)
		return
	}
	if args.Pod == nil {
		r.err = fmt.Errorf("kube-scheduler sent %s a body without a pod", urlPath)
		return
	}
	kind := args.Pod.Labels[KindLabel]
	if kind == "" {
		return
	}
	name := path.Base(path.Dir(urlPath)) + "-" + path.Base(urlPath) + "-" + kind + "-" + r.form
	if _, known := r.first[name]; !known {
		r.first[name] = Recording{Path: urlPath, Request: body}
	}
}

// Names are the recordings of one verb (filter, prioritize, preempt) so far, sorted, or tells of a body that could not be
// read.
func (r *Recorder) Names(verb string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, recording := range r.first {
		if path.Base(recording.Path) == verb {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names, r.err
}

// Save writes one file per recording into dir.
func (r *Recorder) Save(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save recordings: %w", err)
	}
	for name, recording := range r.first {
		text, err := json.MarshalIndent(recording, "", " ")
		if err != nil {
			return fmt.Errorf("save recording %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("save recording %s: %w", name, err)
		}
	}
	return nil
}
