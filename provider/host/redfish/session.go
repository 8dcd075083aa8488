package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/stmcginnis/gofish"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
)

// Keys of the credentials' Secret.
const (
	KeyUsername = "username"
	KeyPassword = "password"
)

// enter logs in where that is not done yet with these credentials. It returns whether it did.
func (b *BMC) enter(ctx context.Context) (fresh bool, err error) {
	keys, err := b.config.Credentials.Get(ctx)
	if err != nil {
		return false, &provider.Error{Op: "read credentials", Kind: provider.ErrMisconfigured, Err: err}
	}
	username, password := keys[KeyUsername].Reveal(), keys[KeyPassword].Reveal()
	if username == "" || password == "" {
		return false, &provider.Error{Op: "log in", Kind: provider.ErrMisconfigured,
			Err: errors.New("the credentials lack username or password"), Hint: "give the Secret both keys"}
	}
	if b.api != nil && b.login.username == username && b.login.password == password {
		return false, nil
	}
	b.leave(ctx)
	if err := b.hello(ctx); err != nil {
		return true, err
	}
	b.login = login{username: username, password: password}
	if !b.basic && b.config.Auth != v1alpha1.AuthBasic {
		if err := b.openSession(ctx); err != nil {
			return true, err
		}
	}
	b.api, err = b.client(ctx)
	return true, err
}

// hello reads the service root, which needs no login.
func (b *BMC) hello(ctx context.Context) error {
	b.login = login{}
	api, err := b.client(ctx)
	if err != nil {
		return err
	}
	b.root = root{}
	if _, err := (&call{api: api}).get("/redfish/v1/", &b.root); err != nil {
		return err
	}
	if b.root.Systems.Path == "" {
		return &provider.Error{Op: "read the service root", Kind: provider.ErrRefused, Err: errors.New("it names no systems"),
			Hint: "see that the address is a BMC"}
	}
	return nil
}

// client makes a client with the login as it stands.
func (b *BMC) client(ctx context.Context) (*gofish.APIClient, error) {
	config := gofish.ClientConfig{
		Endpoint: b.config.Endpoint, NoModifyTransport: true,
		HTTPClient: dial.Client(opaque{b.config.Transport}, requestTimeout),
	}
	switch l := b.login; {
	case l.token != "":
		config.Session = &gofish.Session{ID: l.session, Token: l.token}
	case l.username != "":
		config.Username, config.Password, config.BasicAuth = l.username, l.password, true
	}
	return gofish.ConnectContext(ctx, config)
}

// openSession opens a session, or finds that there are none here that can be closed again; then basic authentication
// serves. A session whose place is not told can be neither used up nor ended by us, so its token is not used.
func (b *BMC) openSession(ctx context.Context) error {
	path := b.root.Links.Sessions.Path
	if path == "" || local(path) != nil {
		b.basic = true
		return nil
	}
	l := b.login
	b.login = login{}
	api, err := b.client(ctx)
	b.login = l
	if err != nil {
		return err
	}
	resp, err := api.Post(path, map[string]string{"UserName": l.username, "Password": l.password})
	if err != nil {
		if s := statusOf(err); s == http.StatusNotFound || s == http.StatusMethodNotAllowed || s == http.StatusNotImplemented {
			b.basic = true
			return nil
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b.login.token, b.login.session = resp.Header.Get("X-Auth-Token"), sessionOf(resp)
	if b.login.token == "" || b.login.session == "" {
		token, session := b.login.token, b.login.session
		b.basic, b.login.token, b.login.session = true, "", ""
		b.closeLame(ctx, token, session)
	}
	return nil
}

// closeLame ends a session that came without a token, with the credentials themselves.
func (b *BMC) closeLame(ctx context.Context, token, session string) {
	if token != "" || session == "" {
		return
	}
	if api, err := b.client(ctx); err == nil {
		drop(api.Delete(session))
	}
}

// sessionOf is the path of a new session: by its Location, else by what the body calls itself.
func sessionOf(resp *http.Response) string {
	path := resp.Header.Get("Location")
	if u, err := url.Parse(path); err == nil && path != "" {
		path = u.EscapedPath()
	}
	if path == "" {
		var self link
		_ = json.NewDecoder(resp.Body).Decode(&self)
		path = self.Path
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if local(path) != nil {
		return ""
	}
	return path
}

// leave ends the session. A BMC has few; one that is not ended is held for half an hour.
func (b *BMC) leave(ctx context.Context) {
	if b.api != nil && b.login.session != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		drop(b.api.WithContext(ctx).Delete(b.login.session))
	}
	b.forget()
}

// drop closes an answer that nobody reads.
func drop(resp *http.Response, err error) {
	if err == nil {
		_ = resp.Body.Close()
	}
}

func (b *BMC) forget() {
	b.api, b.login = nil, login{username: b.login.username, password: b.login.password}
}

// secrets are what no text may show.
func (b *BMC) secrets() []dial.Secret {
	return []dial.Secret{dial.Secret(b.login.password), dial.Secret(b.login.token)}
}

// String names the BMC.
func (b *BMC) String() string { return fmt.Sprintf("BMC %s", b.config.Endpoint) }
