package providertest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Fault is one thing that goes wrong between a client and its backend.
type Fault string

// The faults. Each hits one request.
const (
	NotSent        Fault = "the request is not sent"
	AnswerDropped  Fault = "the answer is dropped after the request was carried out"
	AnswerCut      Fault = "the connection ends in the middle of the answer"
	AnswerShort    Fault = "half of the answer arrives as if it were all"
	AnswerEmpty    Fault = "an answer without a body"
	SentTwice      Fault = "the request is sent twice"
	HangsBefore    Fault = "the request hangs before it is carried out"
	HangsAfter     Fault = "the request is carried out and its answer hangs"
	StrangeOK      Fault = "somebody else answers 200 with a page"
	StrangeMissing Fault = "somebody else answers 404 with a page"
	StrangeMoved   Fault = "somebody else redirects"
)

// Faults lists them all.
var Faults = []Fault{NotSent, AnswerDropped, AnswerCut, AnswerShort, AnswerEmpty, SentTwice, HangsBefore, HangsAfter,
	StrangeOK, StrangeMissing, StrangeMoved}

var errWire = errors.New("connection reset")

// Wire is an http.RoundTripper that does to the next request what it was told.
type Wire struct {
	Base http.RoundTripper
	// Gate is asked to send each request, where it is set; it may do so or not, and drop the answer.
	Gate func(req *http.Request, send func() error) error

	mu    sync.Mutex
	next  Fault
	skip  int
	hangs func()
}

// Break sets the fault of the request after the next skip ones. Hangs is called when a request hangs; it may cancel the
// caller's context.
func (w *Wire) Break(f Fault, skip int, hangs func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.skip, w.hangs = f, skip, hangs
}

// Mend takes the fault back and reports whether it had hit a request.
func (w *Wire) Mend() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	hit := w.next == ""
	w.next = ""
	return hit
}

func (w *Wire) take() (Fault, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next != "" && w.skip > 0 {
		w.skip--
		return "", nil
	}
	f := w.next
	w.next = ""
	return f, w.hangs
}

// RoundTrip sends a request, or does not.
func (w *Wire) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if w.Gate == nil {
		return w.send(req)
	}
	if err := w.Gate(req, func() error { resp, err = w.send(req); return err }); err != nil { //nolint:bodyclose // it is the caller's, or closed below
		if resp != nil {
			_ = resp.Body.Close()
		}
		return nil, err
	}
	return resp, nil
}

func (w *Wire) send(req *http.Request) (*http.Response, error) {
	fault, hangs := w.take()
	switch fault {
	case NotSent:
		return nil, errWire
	case HangsBefore:
		return hang(req, hangs)
	case StrangeOK:
		return page(req, http.StatusOK), nil
	case StrangeMissing:
		return page(req, http.StatusNotFound), nil
	case StrangeMoved:
		resp := page(req, http.StatusFound)
		resp.Header.Set("Location", "http://127.0.0.1:1/elsewhere")
		return resp, nil
	case SentTwice:
		return w.twice(req)
	}
	resp, err := w.Base.RoundTrip(req)
	if err != nil || fault == "" {
		return resp, err
	}
	return spoil(req, resp, fault, hangs)
}

// spoil changes what a request was answered with.
func spoil(req *http.Request, resp *http.Response, fault Fault, hangs func()) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	half := body[:len(body)/2]
	switch fault {
	case AnswerDropped:
		return nil, errWire
	case HangsAfter:
		return hang(req, hangs)
	case AnswerCut:
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(half), severed{}))
	case AnswerShort:
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(half)), int64(len(half))
	case AnswerEmpty:
		resp.Body, resp.ContentLength = http.NoBody, 0
	}
	return resp, nil
}

// twice sends a request again after it was answered, as a proxy does that believes the first one lost.
func (w *Wire) twice(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	first := req.Clone(req.Context())
	first.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := w.Base.RoundTrip(first)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	second := req.Clone(req.Context())
	second.Body = io.NopCloser(bytes.NewReader(body))
	return w.Base.RoundTrip(second)
}

func hang(req *http.Request, hangs func()) (*http.Response, error) {
	hangs()
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func page(req *http.Request, status int) *http.Response {
	text := "<html><body>welcome " + req.Header.Get("Authorization") + "</body></html>" // and tells what it was told
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"text/html"}}, Body: io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text))}
}

// severed is a connection that is gone.
type severed struct{}

func (severed) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
