package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
)

// maxRequest is the largest request body, in bytes.
const maxRequest = 64 << 10

// Server speaks the verbs over HTTP:
//
//	POST   /machines                        Create; the same again is the same machine
//	GET    /machines                        List
//	GET    /machines/{uid}                  Get
//	DELETE /machines/{uid}?id=ID&claim=NAME Delete
//	POST   /machines/{uid}/stop?id=ID&claim=NAME Stop
//	GET    /calls                           what was called when (Call), oldest first
//	GET    /healthz
type Server struct {
	cloud *Cloud
	now   func() time.Time
	calls callLog
	mux   *chi.Mux
}

// NewServer returns the handler over a Cloud.
func NewServer(cloud *Cloud, now func() time.Time) *Server {
	s := &Server{cloud: cloud, now: now, mux: chi.NewRouter()}
	s.mux.Use(middleware.Recoverer)
	s.mux.NotFound(func(w http.ResponseWriter, r *http.Request) {
		reject(w, http.StatusNotFound, "no such path: "+r.URL.Path)
	})
	s.mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		reject(w, http.StatusMethodNotAllowed, r.Method+" is not for "+r.URL.Path)
	})
	s.mux.Post("/machines", s.create)
	s.mux.Get("/machines", s.list)
	s.mux.Get("/machines/{uid}", s.get)
	s.mux.Delete("/machines/{uid}", s.delete)
	s.mux.Post("/machines/{uid}/stop", s.stop)
	s.mux.Get("/calls", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.calls.all()) })
	s.mux.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, struct{}{}) })
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			reject(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxRequest))
			return
		}
		reject(w, http.StatusBadRequest, "the body ended early: "+err.Error())
		return
	}
	request, err := decodeRequest(body)
	if err != nil {
		reject(w, http.StatusBadRequest, err.Error())
		return
	}
	m, err := s.cloud.Create(request, s.now())
	s.calls.add(Call{At: s.now(), Verb: "create", Claim: request.Claim, ClaimUID: request.ClaimUID, Attempt: request.Attempt}, err)
	answerWith(w, wireMachine(m), err)
}

// decodeRequest reads one request and nothing else.
func decodeRequest(body []byte) (provider.Request, error) {
	var w wireRequest
	if err := decode(body, &w); err != nil {
		return provider.Request{}, err
	}
	return w.request(), nil
}

// decode reads one JSON value without unknown fields, and nothing after it.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode: more than one JSON value")
	}
	return nil
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	list := wireList{Machines: []wireMachine{}, Complete: true}
	for _, m := range s.cloud.List(s.now()) {
		list.Machines = append(list.Machines, wireMachine(m))
	}
	s.calls.add(Call{At: s.now(), Verb: "list"}, nil)
	answer(w, http.StatusOK, list)
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	claim := uid(r)
	m, err := s.cloud.Get(claim, s.now())
	s.calls.add(Call{At: s.now(), Verb: "get", ClaimUID: claim}, err)
	answerWith(w, wireMachine(m), err)
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request) {
	m := named(r)
	err := s.cloud.Delete(m, s.now(), nil)
	s.calls.add(Call{At: s.now(), Verb: "delete", Claim: m.Claim, ClaimUID: m.ClaimUID}, err)
	answerWith(w, wireDeleted{Accepted: true}, err)
}

func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	m := named(r)
	stopped, err := s.cloud.Stop(m, s.now(), nil)
	s.calls.add(Call{At: s.now(), Verb: "stop", Claim: m.Claim, ClaimUID: m.ClaimUID}, err)
	answerWith(w, wireMachine(stopped), err)
}

// named is the machine that a request is about, as its caller knows it.
func named(r *http.Request) provider.Machine {
	return provider.Machine{ID: provider.ID(r.URL.Query().Get("id")), Claim: r.URL.Query().Get("claim"), ClaimUID: uid(r)}
}

// uid is the claim's UID in the path. Where the path was escaped, chi hands it out as it came.
func uid(r *http.Request) types.UID {
	raw := chi.URLParam(r, "uid")
	if r.URL.RawPath == "" {
		return types.UID(raw)
	}
	plain, err := url.PathUnescape(raw)
	if err != nil {
		return types.UID(raw)
	}
	return types.UID(plain)
}

func answerWith(w http.ResponseWriter, body any, err error) {
	if err != nil {
		status, e := toWire(err)
		answer(w, status, e)
		return
	}
	answer(w, http.StatusOK, body)
}

// reject answers bad input; no client takes this for one of the typed errors.
func reject(w http.ResponseWriter, status int, message string) {
	answer(w, status, wireError{Code: "BadRequest", Message: message})
}

func answer(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"code":"Unknown","message":"the answer could not be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
