package redfish

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
)

// errWrongState is a kind of its own inside this package: the BMC says that the operation does not suit the state that the
// system is in. What that means only a fresh look can tell.
var errWrongState = errors.New("not in this state")

// explain gives an error one of the kinds, a hint, and no secret.
func (b *BMC) explain(err error) error {
	if err == nil {
		return nil
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return err
	}
	hint, kind := classify(err)
	var fault *schemas.Error
	if !errors.As(err, &fault) && kind == provider.ErrUnknown { //nolint:errorlint // a kind, not an error chain
		kind = provider.KindOf(err)
	}
	told := dial.Redact(err.Error(), b.secrets()...)
	if len(told) > 300 {
		told = told[:300] + "..."
	}
	return &provider.Error{Op: b.String(), Kind: kind, Hint: hint, Err: errors.New(told)}
}

// classify says what an answer means. Statuses not listed leave open what was done.
func classify(err error) (hint string, kind error) {
	var unknownCA x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var verification *tls.CertificateVerificationError
	if errors.As(err, &unknownCA) || errors.As(err, &wrongName) || errors.As(err, &verification) || errors.Is(err, dial.ErrCertificate) {
		return "set power.tls.caBundle or power.tls.fingerprint of the Host; muster hosts probe prints the fingerprint", provider.ErrMisconfigured
	}
	if errors.Is(err, dial.ErrForbidden) {
		return "no BMC has this address", provider.ErrMisconfigured
	}
	if errors.Is(err, errWrongState) || errors.Is(err, dial.ErrOpen) {
		return "", provider.ErrBusy
	}
	switch status := statusOf(err); status {
	case http.StatusUnauthorized:
		return "see username and password in the Secret", provider.ErrMisconfigured
	case http.StatusForbidden:
		return "the BMC's account needs the role Operator", provider.ErrMisconfigured
	case http.StatusBadRequest:
		if says(err, "SYS518", "NotReady", "RAC0679") {
			return "", provider.ErrBusy
		}
		return "", provider.ErrRefused
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return "", provider.ErrRefused
	case http.StatusConflict, http.StatusLocked, http.StatusTooManyRequests, http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		return "", provider.ErrBusy
	case http.StatusServiceUnavailable:
		if says(err, "RAC0218", "SessionLimitExceeded") {
			return "all sessions of the BMC are taken; they end by themselves after half an hour, or use power.auth: Basic", provider.ErrBusy
		}
		return "", provider.ErrBusy
	default:
		if status >= 300 && status < 400 {
			return "the BMC redirects, and that is not followed: give the address it redirects to", provider.ErrUnknown
		}
	}
	return "", provider.ErrUnknown
}

// says looks for message IDs in a Redfish error, wherever the BMC put them.
func says(err error, ids ...string) bool {
	var e *schemas.Error
	if !errors.As(err, &e) {
		return false
	}
	told := e.Code + " " + e.Message
	for _, info := range e.ExtendedInfos {
		told += " " + info.MessageID + " " + info.Message
	}
	for _, id := range ids {
		if strings.Contains(told, id) {
			return true
		}
	}
	return false
}

// wrongState says that the operation does not suit the system's state: HPE's iLO answers so when a host is already on or
// off, and for a while after every reset.
func wrongState(err error) bool {
	return statusOf(err) == http.StatusBadRequest && says(err, "InvalidOperationForSystemState", "PowerStateNotChanged") ||
		statusOf(err) == http.StatusConflict
}
