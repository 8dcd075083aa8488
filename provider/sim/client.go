package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

const (
	// callTimeout bounds one call, from its connection to the end of the answer.
	callTimeout = 10 * time.Second
	// maxAnswer is the largest answer that is read, in bytes; a list of 1,000 machines has about 400 KB.
	maxAnswer = 32 << 20
)

// Client is the provider behind an endpoint that Server serves. Whatever happens between the two is ErrUnknown: a call
// that could not be sent is not told from one whose answer was lost.
type Client struct {
	endpoint string
	http     *http.Client
	now      func() time.Time
}

var _ provider.Provider = (*Client)(nil)

// NewClient returns a client of an endpoint such as http://127.0.0.1:10280. Transport may be nil for the default; now is the clock
// that proofs are judged by.
func NewClient(endpoint string, transport http.RoundTripper, now func() time.Time) (*Client, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("endpoint %q is no URL with http or https and a host", endpoint)
	}
	return &Client{endpoint: strings.TrimSuffix(endpoint, "/"), now: now, http: &http.Client{
		Transport: transport, Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Create asks for a machine.
func (c *Client) Create(ctx context.Context, r provider.Request) (provider.Machine, error) {
	body, err := json.Marshal(toWireRequest(r))
	if err != nil {
		return provider.Machine{}, fmt.Errorf("create %s: encode: %w", r.Claim, err)
	}
	m, err := c.machine(ctx, http.MethodPost, "/machines", body, r.ClaimUID)
	if err != nil {
		return provider.Machine{}, fmt.Errorf("create %s: %w", r.Claim, err)
	}
	if m.Attempt != r.Attempt {
		return provider.Machine{}, fmt.Errorf("create %s: attempt %d answered for %d: %w", r.Claim, m.Attempt, r.Attempt, provider.ErrUnknown)
	}
	return m, nil
}

// Get looks a machine up.
func (c *Client) Get(ctx context.Context, m provider.Machine) (provider.Machine, error) {
	found, err := c.machine(ctx, http.MethodGet, "/machines/"+url.PathEscape(string(m.ClaimUID)), nil, m.ClaimUID)
	if err != nil {
		return provider.Machine{}, fmt.Errorf("get %s: %w", m.ClaimUID, err)
	}
	return found, nil
}

// List returns every machine, or ErrUnknown.
func (c *Client) List(ctx context.Context) ([]provider.Machine, error) {
	answer, err := c.call(ctx, http.MethodGet, "/machines", nil)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	machines, err := decodeList(answer)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return machines, nil
}

// Delete gives a machine back.
func (c *Client) Delete(ctx context.Context, m provider.Machine, proof gate.Proof) error {
	if m.ClaimUID == "" {
		return fmt.Errorf("delete %s: no claim UID: %w", m.ID, provider.ErrRefused)
	}
	if err := c.spend(ctx, gate.Delete, m, proof); err != nil {
		return fmt.Errorf("delete %s: %w", m.ID, err)
	}
	query := url.Values{"id": {string(m.ID)}, "claim": {m.Claim}}
	answer, err := c.call(ctx, http.MethodDelete, "/machines/"+url.PathEscape(string(m.ClaimUID))+"?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("delete %s: %w", m.ID, err)
	}
	var d wireDeleted
	if err := json.Unmarshal(answer, &d); err != nil || !d.Accepted {
		return fmt.Errorf("delete %s: answered with %.100q: %w", m.ID, answer, provider.ErrUnknown)
	}
	return nil
}

// spend looks at the machine once more and spends the proof. Where there is none, the endpoint says what that means.
func (c *Client) spend(ctx context.Context, act gate.Act, m provider.Machine, proof gate.Proof) error {
	met, err := c.Get(ctx, m)
	if errors.Is(err, provider.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return provider.Spend(proof, act, m, met.Identity, c.now())
}

// Stop takes a machine's power away.
func (c *Client) Stop(ctx context.Context, m provider.Machine, proof gate.Proof) (provider.Machine, error) {
	if m.ClaimUID == "" {
		return provider.Machine{}, fmt.Errorf("stop %s: no claim UID: %w", m.ID, provider.ErrRefused)
	}
	if err := c.spend(ctx, gate.Stop, m, proof); err != nil {
		return provider.Machine{}, fmt.Errorf("stop %s: %w", m.ID, err)
	}
	query := url.Values{"id": {string(m.ID)}, "claim": {m.Claim}}
	stopped, err := c.machine(ctx, http.MethodPost, "/machines/"+url.PathEscape(string(m.ClaimUID))+"/stop?"+query.Encode(), nil, m.ClaimUID)
	if err != nil {
		return provider.Machine{}, fmt.Errorf("stop %s: %w", m.ID, err)
	}
	return stopped, nil
}

// Check tries whether the endpoint answers.
func (c *Client) Check(ctx context.Context) []provider.Finding {
	f := provider.Finding{Subject: "endpoint " + c.endpoint, Level: provider.LevelOK}
	list, err := c.List(ctx)
	if err != nil {
		f.Level, f.Message, f.Hint = provider.LevelError, err.Error(), "see that muster sim runs there"
	} else {
		f.Message = fmt.Sprintf("answers and holds %d machines", len(list))
	}
	return []provider.Finding{f}
}

// machine makes a call that is answered with the machine of this claim.
func (c *Client) machine(ctx context.Context, method, path string, body []byte, claim types.UID) (provider.Machine, error) {
	answer, err := c.call(ctx, method, path, body)
	if err != nil {
		return provider.Machine{}, err
	}
	m, err := decodeMachine(answer)
	if err == nil && m.ClaimUID != claim {
		err = fmt.Errorf("claim UID %s answered for %s: %w", m.ClaimUID, claim, provider.ErrUnknown)
	}
	return m, err
}

// call returns the whole body of a 200, or a typed error.
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.endpoint+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the answer is larger than %d bytes: %w", maxAnswer, provider.ErrUnknown)
	case resp.StatusCode == http.StatusOK:
		return answer, nil
	}
	var e wireError
	if err := json.Unmarshal(answer, &e); err != nil {
		return nil, fmt.Errorf("answer %d without a reason: %w", resp.StatusCode, provider.ErrUnknown)
	}
	return nil, fromWire(resp.StatusCode, e)
}

// decodeMachine reads one machine; what is not whole is ErrUnknown.
func decodeMachine(answer []byte) (provider.Machine, error) {
	var w wireMachine
	if err := json.Unmarshal(answer, &w); err != nil {
		return provider.Machine{}, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	if err := w.sound(); err != nil {
		return provider.Machine{}, err
	}
	return w.machine(), nil
}

// decodeList reads a complete list; one machine that is not whole, or a claim with two, makes it ErrUnknown.
func decodeList(answer []byte) ([]provider.Machine, error) {
	var w wireList
	if err := json.Unmarshal(answer, &w); err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	if !w.Complete {
		return nil, fmt.Errorf("the list is not marked complete: %w", provider.ErrUnknown)
	}
	seen := make(map[types.UID]bool, len(w.Machines))
	machines := make([]provider.Machine, 0, len(w.Machines))
	for _, m := range w.Machines {
		if err := m.sound(); err != nil {
			return nil, err
		}
		if seen[m.ClaimUID] {
			return nil, fmt.Errorf("claim %s is listed twice: %w", m.Claim, provider.ErrUnknown)
		}
		seen[m.ClaimUID] = true
		machines = append(machines, m.machine())
	}
	return machines, nil
}
