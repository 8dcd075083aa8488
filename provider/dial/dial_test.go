package dial_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/dial"
)

func server(t *testing.T) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func get(spec *v1alpha1.TLS, url string) error {
	rt, err := dial.Transport(spec)
	if err != nil {
		return err
	}
	defer rt.CloseIdleConnections()
	resp, err := dial.Client(rt, 5*time.Second).Get(url)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

func TestOnlyTheTrustedServerIsTalkedTo(t *testing.T) {
	s := server(t)
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	pin := dial.Fingerprint(s.Certificate())
	wrong := strings.Repeat("00:", 31) + "00"
	require.NoError(t, get(&v1alpha1.TLS{CABundle: bundle}, s.URL))
	require.NoError(t, get(&v1alpha1.TLS{Fingerprint: pin}, s.URL))
	require.NoError(t, get(&v1alpha1.TLS{Fingerprint: strings.ToLower(pin)}, s.URL))
	require.NoError(t, get(&v1alpha1.TLS{InsecureSkipVerify: true}, s.URL))
	var unknown *tls.CertificateVerificationError
	require.ErrorAs(t, get(nil, s.URL), &unknown)
	require.ErrorAs(t, get(&v1alpha1.TLS{}, s.URL), &unknown)
	err := get(&v1alpha1.TLS{Fingerprint: wrong}, s.URL)
	require.ErrorIs(t, err, dial.ErrCertificate)
	require.ErrorContains(t, err, pin, "the operator compares it with the server's own")
	require.ErrorContains(t, get(&v1alpha1.TLS{CABundle: "no certificate"}, s.URL), "tls.caBundle")
	require.ErrorContains(t, get(&v1alpha1.TLS{Fingerprint: "AB:CD"}, s.URL), "tls.fingerprint")
}

func TestNoConnectionGoesWhereCloudsKeepCredentials(t *testing.T) {
	for _, bad := range []string{"169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
		"::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"} {
		require.ErrorIs(t, dial.Allowed(netip.MustParseAddr(bad)), dial.ErrForbidden, bad)
	}
	for _, good := range []string{"10.0.0.1", "192.168.1.10", "127.0.0.1", "::1", "fd12::1", "203.0.113.9"} {
		require.NoError(t, dial.Allowed(netip.MustParseAddr(good)), good)
	}
	require.ErrorIs(t, get(nil, "https://169.254.169.254/latest/meta-data"), dial.ErrForbidden)
}

func TestARedirectIsAnAnswer(t *testing.T) {
	s := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	t.Cleanup(s.Close)
	rt, err := dial.Transport(nil)
	require.NoError(t, err)
	resp, err := dial.Client(rt, time.Second).Get(s.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

// script is a backend that answers with these errors in turn, nil being an answer.
type script struct {
	errs []error
	sent int
}

func (s *script) RoundTrip(*http.Request) (*http.Response, error) {
	err := s.errs[min(s.sent, len(s.errs)-1)]
	s.sent++
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

var errLost = errors.New("connection reset")

func send(ctx context.Context, rt http.RoundTripper, method string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://pve", nil)
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

func TestOnlyWhatChangesNothingIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{errs: []error{errLost, errLost, nil}}
		require.NoError(t, send(t.Context(), &dial.Retry{Next: s, Attempts: 3, First: time.Second}, http.MethodGet))
		require.Equal(t, 3, s.sent)
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			s = &script{errs: []error{errLost, nil}}
			require.ErrorIs(t, send(t.Context(), &dial.Retry{Next: s, Attempts: 3, First: time.Second}, method), errLost)
			require.Equal(t, 1, s.sent, method)
		}
		s = &script{errs: []error{errLost}}
		require.ErrorIs(t, send(t.Context(), &dial.Retry{Next: s, Attempts: 3, First: time.Second}, http.MethodGet), errLost)
		require.Equal(t, 3, s.sent, "and not for ever")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/4)
		defer cancel()
		s = &script{errs: []error{errLost}}
		require.ErrorIs(t, send(ctx, &dial.Retry{Next: s, Attempts: 9, First: time.Hour}, http.MethodGet), errLost)
		require.Equal(t, 1, s.sent, "nobody waits any more")
	})
}

func TestABackendThatDoesNotAnswerIsSpared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{errs: []error{errLost, errLost, errLost, errLost, nil}}
		b := &dial.Breaker{Next: s, Failures: 3, Cool: time.Minute, Now: time.Now}
		for range 3 {
			require.ErrorIs(t, send(t.Context(), b, http.MethodGet), errLost)
		}
		err := send(t.Context(), b, http.MethodGet)
		require.ErrorIs(t, err, dial.ErrOpen)
		require.ErrorContains(t, err, "the last: "+errLost.Error(), "whoever looks an hour later wants to know why")
		require.NotErrorIs(t, err, errLost)
		require.Equal(t, 3, s.sent)
		time.Sleep(time.Minute)
		require.ErrorIs(t, send(t.Context(), b, http.MethodGet), errLost, "one tries")
		require.ErrorIs(t, send(t.Context(), b, http.MethodGet), dial.ErrOpen)
		time.Sleep(time.Minute)
		require.NoError(t, send(t.Context(), b, http.MethodGet))
		require.NoError(t, send(t.Context(), b, http.MethodGet))
	})
}

func TestSecretsAreInNoText(t *testing.T) {
	const canary = "canary-5f1d"
	secret := dial.Secret(canary)
	text, err := json.Marshal(map[string]any{"token": secret})
	require.NoError(t, err)
	for _, shown := range []string{fmt.Sprint(secret), fmt.Sprintf("%s %v %#v %+v %q", secret, secret, secret, struct{ S dial.Secret }{secret}, secret),
		string(text), dial.Redact("bad token "+canary+"!", secret), secret.LogValue().String()} {
		require.NotContains(t, shown, canary)
	}
	require.Equal(t, canary, secret.Reveal())
	require.Equal(t, "a b", dial.Redact("a b", "a", ""))
}

func TestCredentialsAreFreshWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		value, reads := "one", 0
		var fails error
		c := &dial.Credentials{Now: time.Now, Read: func(context.Context) (map[string][]byte, error) {
			reads++
			return map[string][]byte{"token": []byte(value)}, fails
		}}
		token := func() string {
			got, err := c.Get(t.Context())
			if err != nil {
				return err.Error()
			}
			return got["token"].Reveal()
		}
		require.Equal(t, "one", token())
		value = "two"
		require.Equal(t, "one", token())
		require.Equal(t, 1, reads)
		time.Sleep(dial.MaxAge / 2)
		require.Equal(t, "two", token())
		value = "three"
		c.Doubt()
		require.Equal(t, "three", token(), "refused credentials are read again at once")
		fails = errors.New("no API server")
		time.Sleep(dial.MaxAge - time.Nanosecond)
		require.Equal(t, "three", token())
		time.Sleep(time.Nanosecond)
		require.Equal(t, "read credentials: no API server", token())
	})
}

func TestACallThatIsNoRequestIsSparedTheSame(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	b := &dial.Breaker{Failures: 2, Cool: time.Minute, Now: func() time.Time { return now }}
	calls := 0
	call := func(answered bool) error {
		return b.Do(t.Context(), func() (bool, error) { calls++; return answered, errors.New("no") })
	}
	for range 5 {
		require.Error(t, call(true))
	}
	require.Equal(t, 5, calls, "an answer is an answer")
	require.NotErrorIs(t, call(false), dial.ErrOpen)
	require.NotErrorIs(t, call(false), dial.ErrOpen)
	require.ErrorIs(t, call(false), dial.ErrOpen)
	require.Equal(t, 7, calls)
	now = now.Add(time.Minute)
	require.NotErrorIs(t, call(true), dial.ErrOpen)
	require.NotErrorIs(t, call(true), dial.ErrOpen)
	given, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		require.NotErrorIs(t, b.Do(given, func() (bool, error) { return false, context.Canceled }), dial.ErrOpen, "a call that its caller gave up")
	}
}
