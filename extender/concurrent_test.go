package extender_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/extender"
)

// Nobody sees a pod bound meanwhile: the holds alone keep the nodes from being overbooked.
func TestCallsAtATimeNeverOverbook(t *testing.T) {
	live := capacity.NewLive(capacity.Schedulers{})
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("node-%d", i))
		live.SetNode(machine(names[i], "4", "64Gi"), noon)
	}
	h := extender.New(config(live))
	var placed atomic.Int32
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for i := range 10 {
				w := post(h, "/place/filter", encode(t, named(workload(fmt.Sprintf("pod-%d-%d", c, i), "1", "1Gi"), names...)))
				if bytes.Contains(w.Body.Bytes(), []byte(`"NodeNames":["node-`)) {
					placed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	require.Equal(t, int32(20), placed.Load(), "five nodes of 4 CPUs take twenty pods of one")
}

// A scheduler that no longer waits tries again; a hold for the answer it never read would stay.
func TestACallWhoseCallerWentAwayHoldsNothing(t *testing.T) {
	live := smallWorld()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	body := encode(t, named(workload("web", "1", "1Gi"), smallNames...))
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/place/filter", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	extender.New(config(live)).ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Empty(t, live.Held("uid-web"))
}

// onePipe is a listener whose only connection is one end of a pipe.
type onePipe struct {
	conn chan net.Conn
	once sync.Once
}

func (l *onePipe) Accept() (net.Conn, error) {
	c, ok := <-l.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *onePipe) Close() error {
	l.once.Do(func() { close(l.conn) })
	return nil
}

func (l *onePipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// A caller that sends half a body and stops keeps its place no longer than any call may last.
func TestABodyThatStopsHalfWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(smallWorld())
		cfg.Timeout = 2 * time.Second
		ours, theirs := net.Pipe()
		l := &onePipe{conn: make(chan net.Conn, 1)}
		l.conn <- theirs
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- extender.Server{Handler: extender.New(cfg), Logger: quiet(), Grace: time.Minute}.Serve(ctx, l)
		}()
		start := time.Now()
		_, err := io.WriteString(ours, "POST /place/filter HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
			"Content-Length: 100\r\n\r\n{\"Pod\":")
		require.NoError(t, err)
		response, err := http.ReadResponse(bufio.NewReader(ours), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
		require.Equal(t, 2*time.Second, time.Since(start))
		require.NoError(t, ours.Close())
		cancel()
		require.NoError(t, <-done)
	})
}
