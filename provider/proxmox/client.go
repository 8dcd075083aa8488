package proxmox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	pve "github.com/luthermonson/go-proxmox"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
)

// client makes the calls. go-proxmox encodes and decodes; strict decides what an answer is.
type client struct {
	endpoints *endpoints
	pve       *pve.Client
	base      string
	http      *http.Client
}

// callTimeout is longer than the 31 s after which pveproxy itself gives a host up, and connectTimeout is how long each
// further endpoint may take to be found dead.
const (
	callTimeout    = 40 * time.Second
	connectTimeout = 10 * time.Second
)

func newClient(e *endpoints, credentials *dial.Credentials, pause time.Duration) *client {
	base := e.bases[0]
	transport := &strict{credentials: credentials, next: &dial.Retry{Next: e, Attempts: 3, First: pause}}
	plain := dial.Client(transport, callTimeout+time.Duration(len(e.bases)-1)*connectTimeout)
	return &client{endpoints: e, base: base, http: plain, pve: pve.NewClient(base, pve.WithHTTPClient(plain), pve.WithUserAgent("muster"),
		pve.WithLogger(silent{}))}
}

// silent keeps the library from logging requests: they carry what a machine is started with.
type silent struct{}

func (silent) Debugf(string, ...any) {}
func (silent) Infof(string, ...any)  {}
func (silent) Warnf(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

// replay is an answer whose body was read.
func replay(resp *http.Response, body []byte) *http.Response {
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp
}

func (c *client) get(ctx context.Context, op, path string, into any) error {
	return c.typed(ctx, op, c.pve.Get(ctx, path, into))
}

// task makes a call that is answered with the identifier of a task.
func (c *client) task(ctx context.Context, op, method, path string, params any) (upid, error) {
	var text string
	var err error
	switch method {
	case http.MethodPost:
		err = c.pve.Post(ctx, path, params, &text)
	case http.MethodPut:
		err = c.pve.Put(ctx, path, params, &text)
	case http.MethodDelete:
		err = c.pve.DeleteWithParams(ctx, path, params, &text)
	}
	if err != nil {
		return upid{}, c.typed(ctx, op, err)
	}
	id, err := parseUPID(text)
	return id, c.typed(ctx, op, err)
}

func (c *client) put(ctx context.Context, op, path string, params any) error {
	return c.typed(ctx, op, c.pve.Put(ctx, path, params, nil))
}

// typed also says what a missing credential means, and that a call which nobody waits for has no outcome.
func (c *client) typed(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: ctx.Err()}
	}
	var missing *credentialsError
	if errors.As(err, &missing) {
		return &provider.Error{Op: op, Kind: provider.ErrMisconfigured, Err: missing, Hint: "see spec.credentials, and that Muster may read this Secret: docs/proxmox.md, section 2"}
	}
	var sent *url.Error
	if errors.As(err, &sent) {
		err = sent.Err
	}
	return typed(op, err)
}

func qemu(node string, vmid int) string {
	return fmt.Sprintf("/nodes/%s/qemu/%d", url.PathEscape(node), vmid)
}
