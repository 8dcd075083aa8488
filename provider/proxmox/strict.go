package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/muster-sh/muster/provider/dial"
)

// maxAnswer is the largest answer that is read, in bytes; a VM has about 400 in cluster/resources.
const maxAnswer = 32 << 20

// strict stands under go-proxmox, which takes most statuses for success and drops what an error said: every answer that
// is not {"data": ...} with a status of 2xx becomes an error here, and the token is put on here, so that it may change.
type strict struct {
	next        http.RoundTripper
	credentials *dial.Credentials
}

var errNoEnvelope = errors.New("answer has no data: it is not Proxmox VE's, or not whole")

// RoundTrip sends a request with the token. A token that is not taken is read again; the request is repeated with another
// one only, since nothing was done without.
func (s *strict) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := s.token(req.Context())
	if err != nil {
		return nil, err
	}
	resp, err := s.send(req, token)
	var refused *answerError
	if !errors.As(err, &refused) || refused.status != http.StatusUnauthorized || !refused.genuine {
		return resp, err
	}
	s.credentials.Doubt()
	fresh, again := s.token(req.Context())
	if again != nil || fresh == token || req.Body != nil && req.GetBody == nil {
		return nil, err
	}
	if req.GetBody != nil {
		if req.Body, again = req.GetBody(); again != nil {
			return nil, err
		}
	}
	return s.send(req, fresh)
}

// The keys of the Secret.
const (
	keyTokenID     = "tokenID"
	keyTokenSecret = "tokenSecret"
)

type token struct {
	id     string
	secret dial.Secret
}

func (s *strict) token(ctx context.Context) (token, error) {
	data, err := s.credentials.Get(ctx)
	if err != nil {
		return token{}, &credentialsError{err}
	}
	for _, key := range []string{keyTokenID, keyTokenSecret} {
		if err := wellFormed(key, data[key].Reveal()); err != nil {
			return token{}, &credentialsError{s.credentials.About(err)}
		}
	}
	return token{id: data[keyTokenID].Reveal(), secret: data[keyTokenSecret]}, nil
}

// wellFormed refuses what no API token can be. It repeats no value: the two may have been taken for each other.
func wellFormed(key, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("key %s is missing or empty; needed are %s, for example muster@pve!m, and %s", key, keyTokenID, keyTokenSecret)
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("key %s has a space or a line break in it: write it without (echo adds a line break, printf does not)", key)
	case key == keyTokenID && !tokenIDForm.MatchString(value):
		return fmt.Errorf("key %s is not USER@REALM!TOKENNAME, for example muster@pve!m", key)
	}
	return nil
}

// tokenIDForm is how Proxmox VE writes an API token's name.
var tokenIDForm = regexp.MustCompile(`^[^@!=]+@[^@!=]+![^@!=]+$`)

// credentialsError means that nothing was sent for want of credentials.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }

func (s *strict) send(req *http.Request, t token) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "PVEAPIToken="+t.id+"="+t.secret.Reveal())
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer: %w", err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, newAnswerError(resp, body, []dial.Secret{t.secret})
	}
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(body, &envelope); err != nil || envelope["data"] == nil {
		return nil, errNoEnvelope
	}
	return replay(resp, body), nil
}
