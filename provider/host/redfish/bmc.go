package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/schemas"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
)

// Config is how to reach one BMC.
type Config struct {
	// Endpoint is https://host, without a path.
	Endpoint    string
	Auth        v1alpha1.Auth
	Credentials *dial.Credentials
	Transport   http.RoundTripper
}

// requestTimeout bounds one request to a BMC; slow ones take ten seconds and more.
const requestTimeout = 30 * time.Second

// maxBody is the largest answer that is read, in bytes.
const maxBody = 4 << 20

// BMC is one Redfish service. One operation is under way at a time: BMCs freeze under more.
type BMC struct {
	config Config
	turn   chan struct{} // holds one when somebody has the turn

	api   *gofish.APIClient // nil: not logged in
	login login
	basic bool // sessions do not work here
	root  root
	tasks map[string]*task // of the last operation on a system, by its path
}

// login is what a client was made with; session is empty with basic authentication.
type login struct{ username, password, token, session string }

// root is what Muster uses of the service root.
type root struct {
	Systems link
	Links   struct{ Sessions link }
	Vendor  text
	Product text
}

type link struct {
	Path string `json:"@odata.id"`
}

// New returns a BMC; it calls nobody.
func New(config Config) *BMC {
	config.Endpoint = strings.TrimRight(config.Endpoint, "/")
	return &BMC{config: config, turn: make(chan struct{}, 1), tasks: map[string]*task{}}
}

// opaque hides the transport's type, so that the library cannot change it.
type opaque struct{ next http.RoundTripper }

func (o opaque) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err == nil {
		resp.Body = capped{io.LimitReader(resp.Body, maxBody), resp.Body}
	}
	return resp, err
}

type capped struct {
	io.Reader
	io.Closer
}

// do has f run alone on this BMC, logged in. When the BMC no longer knows the session, it is made anew once: a request that
// is answered with 401 was not carried out.
func (b *BMC) do(ctx context.Context, f func(*call) error) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the BMC's other operation: %w: %w", provider.ErrBusy, ctx.Err())
	}
	fresh, err := b.enter(ctx)
	if statusOf(err) == http.StatusUnauthorized { // perhaps the Secret changed a moment ago
		b.config.Credentials.Doubt()
		fresh, err = b.enter(ctx)
	}
	if err != nil {
		b.api = nil
		return b.explain(err)
	}
	err = f(&call{api: b.api.WithContext(ctx), tasks: b.tasks})
	if statusOf(err) == http.StatusUnauthorized && !fresh {
		b.config.Credentials.Doubt()
		b.forget()
		if _, err = b.enter(ctx); err == nil {
			err = f(&call{api: b.api.WithContext(ctx), tasks: b.tasks})
		}
	}
	if statusOf(err) == http.StatusUnauthorized {
		b.config.Credentials.Doubt()
		b.forget()
	}
	return b.explain(err)
}

// Close logs out.
func (b *BMC) Close(ctx context.Context) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
		b.leave(ctx)
	case <-ctx.Done():
	}
}

// call is a client for one operation.
type call struct {
	api   *gofish.APIClient
	tasks map[string]*task
}

// get reads a resource and returns its ETag.
func (c *call) get(path string, into any) (etag string, err error) {
	if err := local(path); err != nil {
		return "", err
	}
	resp, err := c.api.Get(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: answered with %d and no resource: %w", path, resp.StatusCode, provider.ErrUnknown)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return "", fmt.Errorf("GET %s: %w: %w", path, provider.ErrUnknown, err)
	}
	return resp.Header.Get("ETag"), nil
}

// send posts or patches. With an ETag, the resource must still be that one. It returns where the BMC tells how it goes on,
// if it says so.
func (c *call) send(method, path string, body any, etag string) (taskAt string, err error) {
	if err := local(path); err != nil {
		return "", err
	}
	headers := map[string]string{}
	if etag != "" {
		headers["If-Match"] = etag
	}
	send := c.api.PostWithHeaders
	if method == http.MethodPatch {
		send = c.api.PatchWithHeaders
	}
	resp, err := send(path, body, headers)
	if err != nil {
		return "", err
	}
	taskAt = taskOf(resp)
	_, _ = io.Copy(io.Discard, resp.Body)
	return taskAt, resp.Body.Close()
}

// local refuses a link that is no path on the same server: the library would append "@elsewhere/" to the host's name.
func local(path string) error {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n") {
		return fmt.Errorf("the BMC's link %.60q does not lead to itself: %w", path, provider.ErrRefused)
	}
	return nil
}

// statusOf is the HTTP status of an error answer, 0 when there was none.
func statusOf(err error) int {
	var e *schemas.Error
	if errors.As(err, &e) {
		return e.HTTPReturnedStatusCode
	}
	return 0
}

// text is a string of a BMC; what is no string is empty.
type text string

// UnmarshalJSON never fails: a field of a wrong type is a field that is missing.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	_ = json.Unmarshal(b, &s)
	*t = text(s)
	return nil
}

// number is a number of a BMC; what is none is zero.
type number float64

// UnmarshalJSON never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	_ = json.Unmarshal(b, &f)
	*n = number(f)
	return nil
}
