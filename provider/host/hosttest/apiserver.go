package hosttest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/objects"
	"github.com/muster-sh/muster/provider/providertest"
)

// OverTheWire puts the rack's Host objects behind an API server: the provider and the keeper read and write them by HTTP,
// through the wire. Base of the wire has to be an Exchange.
func (r *Rack) OverTheWire(t *testing.T, wire *providertest.Wire) {
	t.Helper()
	const url = "http://api.example"
	wire.Base.(*Exchange).Connect(url, providertest.Direct{Handler: apiServer{r.Objects}})
	c, err := client.New(&rest.Config{Host: url, Transport: wire, QPS: -1}, client.Options{Scheme: scheme(t), Mapper: mapper()})
	require.NoError(t, err)
	r.Use(&objects.API{Client: c})
}

// Restart is a new process: what the provider and the keeper remember beside the objects is lost.
func (r *Rack) Restart() {
	k := r.Keeper
	r.Keeper = &host.Keeper{Name: k.Name, Objects: k.Objects, Switches: k.Switches, Claims: k.Claims, Gate: k.Gate, Recorder: k.Recorder, Rules: k.Rules,
		Now: k.Now, Log: k.Log, Parallel: k.Parallel}
	r.Use(k.Objects)
}

// Use has the provider and the keeper read and write objects somewhere else.
func (r *Rack) Use(o host.Objects) {
	r.Provider = host.NewProvider(ProviderName, o, r.Keeper.Switches, r.Gate, r.Now)
	r.Keeper.Objects = o
}

func scheme(t *testing.T) *runtime.Scheme {
	s := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(s))
	return s
}

// mapper knows hosts, so that the client asks nobody what there is.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(v1alpha1.GroupVersion.WithKind("Host"), meta.RESTScopeRoot)
	return m
}

// apiServer answers what a client of Host objects asks for, as an API server does.
type apiServer struct{ objects *Objects }

func (a apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const hosts = "/apis/muster.sh/v1alpha1/hosts"
	name, isStatus := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, hosts+"/"), "/status")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == hosts:
		all, err := a.objects.List(r.Context())
		list := v1alpha1.HostList{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "HostList"}}
		for _, h := range all {
			list.Items = append(list.Items, *h)
		}
		tell(w, list, err)
	case r.Method == http.MethodPut && isStatus:
		var h v1alpha1.Host
		if err := json.NewDecoder(r.Body).Decode(&h); err != nil || h.Name != name {
			tell(w, nil, fmt.Errorf("a body for %s: %w", name, err))
			return
		}
		written, err := a.objects.UpdateStatus(r.Context(), &h)
		if err == nil {
			written.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Host"}
		}
		tell(w, written, err)
	case r.Method == http.MethodPatch && !isStatus:
		var patch struct {
			Metadata struct {
				ResourceVersion string   `json:"resourceVersion"`
				Finalizers      []string `json:"finalizers"`
			} `json:"metadata"`
		}
		h := a.objects.Get(name)
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil || h == nil {
			tell(w, nil, fmt.Errorf("a patch of %s: %w", name, cmp.Or(err, host.ErrConflict)))
			return
		}
		h.ResourceVersion = patch.Metadata.ResourceVersion
		written, err := a.objects.SetFinalizers(r.Context(), h, patch.Metadata.Finalizers)
		if err == nil {
			written.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Host"}
		}
		tell(w, written, err)
	default:
		tell(w, nil, fmt.Errorf("%s %s is not asked for in tests", r.Method, r.URL.Path))
	}
}

func tell(w http.ResponseWriter, body any, err error) {
	code := http.StatusOK
	if err != nil {
		code = http.StatusInternalServerError
		status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: err.Error()}
		if errors.Is(err, host.ErrConflict) {
			code, status.Reason = http.StatusConflict, metav1.StatusReasonConflict
		}
		status.Code, body = int32(code), status //nolint:gosec // a status of HTTP
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// Exchange sends each request by the transport of the server that it is for. With it one wire lies between a provider and
// all the servers that it talks to.
type Exchange struct {
	mu    sync.Mutex
	lines map[string]http.RoundTripper
}

// Connect has requests for the server at this URL take this way.
func (e *Exchange) Connect(url string, by http.RoundTripper) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lines == nil {
		e.lines = map[string]http.RoundTripper{}
	}
	_, server, _ := strings.Cut(url, "://")
	e.lines[server] = by
}

// RoundTrip sends a request, or fails where nobody is connected.
func (e *Exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	by := e.lines[r.URL.Host]
	e.mu.Unlock()
	if by == nil {
		return nil, fmt.Errorf("nobody at %s", r.URL.Host)
	}
	return by.RoundTrip(r)
}
