package proxmox_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/providertest"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// door is a host's own API in front of the cluster. It notes what it was asked to change, and may lose an answer.
type door struct {
	cluster *pvesim.Cluster
	server  *httptest.Server

	mu    sync.Mutex
	lose  func(r *http.Request) (before, after bool) // the connection ends instead of an answer
	asked []string
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.asked = append(d.asked, r.Method+" "+r.URL.Path)
	before, after := false, false
	if d.lose != nil {
		before, after = d.lose(r)
	}
	d.mu.Unlock()
	if before {
		panic(http.ErrAbortHandler)
	}
	if after {
		d.cluster.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	d.cluster.ServeHTTP(w, r)
}

func (d *door) losing(how func(r *http.Request) (before, after bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose = how
}

// count is how often it was asked for something.
func (d *door) count(method, suffix string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.asked {
		if strings.HasPrefix(line, method+" ") && strings.HasSuffix(line, suffix) {
			n++
		}
	}
	return n
}

// doors has the Provider reach the cluster by two hosts.
func doors(t *testing.T) (*rig, *door, *door) {
	r := newRig(t)
	open := func() *door {
		d := &door{cluster: r.cluster}
		d.server = providertest.Certified(httptest.NewUnstartedServer(d))
		d.server.Config.ErrorLog = r.server.Config.ErrorLog
		d.server.StartTLS() // with the certificate that r.server has
		t.Cleanup(d.server.Close)
		return d
	}
	first, second := open(), open()
	r.server = first.server
	r.spec.Endpoints = []string{second.server.URL + "/"}
	return r, first, second
}

func TestADeadEndpointIsPassedOver(t *testing.T) {
	r, first, second := doors(t)
	first.server.Close()
	p, req := always(r.provider(t)), request(1)
	m := boot(t, r, p, &req)
	require.Equal(t, 1, second.count(http.MethodPost, "/clone"))
	gone(t, r, p, m)
	require.Zero(t, r.count())
	found := p().Check(t.Context())
	require.Equal(t, provider.LevelWarning, found[0].Level, "others serve")
	require.Equal(t, "endpoint "+first.server.URL, found[0].Subject)
	require.Equal(t, provider.LevelOK, found[1].Level)
	require.Equal(t, "endpoint "+second.server.URL, found[1].Subject)

	second.server.Close()
	_, err := r.provider(t).List(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.ErrorContains(t, err, first.server.URL)
	require.ErrorContains(t, err, second.server.URL)
	require.Len(t, r.provider(t).Check(t.Context()), 2, "nothing else can be said")
}

func TestAnEndpointThatDiesUnderWayIsReplaced(t *testing.T) {
	r, first, second := doors(t)
	p, req := r.provider(t), request(1)
	steps := 0
	m := boot(t, r, func() *proxmox.Provider {
		if steps++; steps == 3 { // the number is written down, the clone was accepted
			first.server.Close()
		}
		return p
	}, &req)
	require.Equal(t, 1, first.count(http.MethodPost, "/clone"))
	require.Zero(t, second.count(http.MethodPost, "/clone"))
	require.Equal(t, 1, second.count(http.MethodPost, "/status/start"))
	require.Equal(t, 1, r.count())
	gone(t, r, always(p), m)
	require.Zero(t, r.count())
}

// Each request that changes something loses its answer at one endpoint, having been carried out or not: the other one is not
// sent it, but asked what became of it.
func TestWhatMayHaveBeenCarriedOutIsNotSentElsewhere(t *testing.T) {
	for _, what := range []string{"POST clone", "PUT config", "POST start", "POST stop", "DELETE 1"} { // the number begins so
		for name, done := range map[string]bool{"carried out": true, "not carried out": false} {
			t.Run(what+" "+name, func(t *testing.T) {
				r, first, second := doors(t)
				method, last, _ := strings.Cut(what, " ")
				lost := 0
				first.losing(func(q *http.Request) (before, after bool) {
					parts := strings.Split(q.URL.Path, "/")
					hit := lost == 0 && q.Method == method && strings.HasPrefix(parts[len(parts)-1], last)
					if hit {
						lost++
					}
					return hit && !done, hit && done
				})
				p, req := r.provider(t), request(1)
				watched := func() *proxmox.Provider {
					require.True(t, lost > 0 || changes(second) == 0)
					return p
				}
				m := boot(t, r, watched, &req)
				require.Equal(t, 1, r.count())
				require.Equal(t, 1, r.vm(t, m.ID).Starts)
				gone(t, r, watched, m)
				require.Zero(t, r.count())
				require.Equal(t, 1, lost)
				for _, one := range []string{"POST clone", "PUT config", "POST start", "POST stop", "DELETE " + string(m.ID)} {
					method, suffix, _ := strings.Cut(one, " ")
					sent := first.count(method, "/"+suffix) + second.count(method, "/"+suffix)
					if !done && strings.HasPrefix(one, what) { // when it was seen that nothing came of it
						sent--
					}
					require.Equal(t, 1, sent, one)
				}
			})
		}
	}
}

func changes(d *door) int {
	return d.count(http.MethodPost, "") + d.count(http.MethodPut, "") + d.count(http.MethodDelete, "")
}

// An endpoint that does not reach a host, or has no quorum, left the request undone: another one may be able to.
func TestWhatWasCertainlyNotCarriedOutIsAskedOfAnother(t *testing.T) {
	t.Run("595", func(t *testing.T) {
		r, first, second := doors(t)
		p, req := reserved(t, r)
		r.cluster.Break(pvesim.Fault{Part: "/clone", Status: 595})
		_, err := p.Create(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, 1, first.count(http.MethodPost, "/clone"))
		require.Equal(t, 1, second.count(http.MethodPost, "/clone"))
		require.Equal(t, 1, r.count())
	})
	t.Run("595 everywhere", func(t *testing.T) {
		r, _, _ := doors(t)
		p, req := reserved(t, r)
		for range 2 * 3 { // it is tried three times
			r.cluster.Break(pvesim.Fault{Part: "/clone", Status: 595})
		}
		_, err := p.Create(t.Context(), req)
		require.ErrorIs(t, err, provider.ErrBusy)
		require.Zero(t, r.count())
	})
	t.Run("595, and the other one is dead", func(t *testing.T) {
		r, _, second := doors(t)
		p, req := reserved(t, r)
		second.server.Close()
		for range 3 {
			r.cluster.Break(pvesim.Fault{Part: "/clone", Status: 595})
		}
		_, err := p.Create(t.Context(), req)
		require.ErrorIs(t, err, provider.ErrBusy, "it is still known that nothing was done")
	})
	t.Run("596", func(t *testing.T) {
		r, _, second := doors(t)
		p, req := reserved(t, r)
		r.cluster.Break(pvesim.Fault{Part: "/clone", Status: 596})
		_, err := p.Create(t.Context(), req)
		require.ErrorIs(t, err, provider.ErrUnknown)
		require.Zero(t, second.count(http.MethodPost, "/clone"))
	})
	t.Run("no quorum", func(t *testing.T) {
		r, first, second := doors(t)
		p, req := reserved(t, r)
		r.cluster.Break(pvesim.Fault{Part: "/clone", Status: 500, Message: "cluster not ready - no quorum?"})
		_, err := p.Create(t.Context(), req)
		require.NoError(t, err, "busy is tried again, at the other one")
		require.Equal(t, 1, first.count(http.MethodPost, "/clone"))
		require.Equal(t, 1, second.count(http.MethodPost, "/clone"))
	})
}

func TestEndpointsAreTold(t *testing.T) {
	r := newRig(t)
	for want, endpoints := range map[string][]string{
		`proxmox.endpoints[0] "http://pve2:8006": must be https`:    {"http://pve2:8006"},
		`proxmox.endpoints[1] "https://pve2:8006/": is there twice`: {"https://pve2:8006", "https://pve2:8006/"},
		`proxmox.endpoints[0] "https://pve1:8006": is there twice`:  {"https://pve1:8006"},
	} {
		r.spec.Endpoints = endpoints
		_, err := proxmox.New(proxmox.Config{Spec: r.spec, Endpoint: "https://pve1:8006"})
		require.ErrorContains(t, err, want)
	}
}
