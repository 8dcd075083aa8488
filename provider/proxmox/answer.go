package proxmox

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
)

// The statuses that pveproxy gives when it cannot ask the host that a request is for. Measured on PVE 9.2.
const (
	statusNotReached = 595 // never connected: the request was not carried out
	statusNoAnswer   = 596 // connected, no answer within 30 s: it may have been carried out
)

// answerError is every answer that is not a success.
type answerError struct {
	status  int
	message string
	// fields are what a 400 says of each parameter.
	fields map[string]string
	// genuine says that the answer has the form of Proxmox VE; any other was given by somebody else.
	genuine bool
}

// Error is one line.
func (e *answerError) Error() string {
	text := fmt.Sprintf("answer %d", e.status)
	if e.message != "" {
		text += ": " + e.message
	}
	for _, name := range slices.Sorted(maps.Keys(e.fields)) {
		text += fmt.Sprintf("; %s: %s", name, strings.TrimSpace(e.fields[name]))
	}
	return text
}

// newAnswerError reads an answer of status 300 and more. The message is in the body since PVE 8.3, in the reason phrase
// before.
func newAnswerError(resp *http.Response, body []byte, secrets []dial.Secret) *answerError {
	e := &answerError{status: resp.StatusCode}
	var envelope struct {
		Message string                     `json:"message"`
		Errors  map[string]json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(body, &envelope); err == nil {
		e.genuine = true
	} else if len(body) == 0 {
		// Bodies are empty where no daemon was asked, and where nobody was let in.
		e.genuine = slices.Contains([]int{http.StatusUnauthorized, statusNotReached, statusNoAnswer}, resp.StatusCode)
	}
	_, reason, _ := strings.Cut(resp.Status, " ")
	e.message = oneLine(dial.Redact(reason, secrets...))
	if e.genuine && envelope.Message != "" {
		e.message = oneLine(dial.Redact(envelope.Message, secrets...))
	}
	for name, raw := range envelope.Errors {
		if e.fields == nil {
			e.fields = map[string]string{}
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		e.fields[name] = oneLine(dial.Redact(text, secrets...))
	}
	return e
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 400 {
		text = text[:400] + "…"
	}
	return text
}

// typed turns what a call ended with into one of the provider's errors.
func typed(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return err
	}
	var a *answerError
	if errors.As(err, &a) {
		hint, kind := a.kind()
		return &provider.Error{Op: op, Kind: kind, Hint: hint, Err: a}
	}
	hint := dial.ReachHint(err, "spec.endpoint")
	switch {
	case errors.Is(err, dial.ErrCertificate):
		hint = "compare spec.tls.fingerprint with the server's certificate"
	case strings.Contains(err.Error(), "x509:"):
		hint = "put the cluster's CA (/etc/pve/pve-root-ca.pem) into spec.tls.caBundle, or its fingerprint into spec.tls.fingerprint"
	}
	return &provider.Error{Op: op, Kind: provider.ErrUnknown, Hint: hint, Err: err}
}

func (e *answerError) kind() (hint string, kind error) {
	switch {
	case !e.genuine:
		return "this is no answer of Proxmox VE: see what stands between", provider.ErrUnknown
	case e.status == statusNotReached:
		return "the host cannot be reached by the one that was asked; see whether it is up", provider.ErrBusy
	case e.status == http.StatusUnauthorized:
		return "the token was not taken: see tokenID and tokenSecret in the Secret", provider.ErrMisconfigured
	case e.status == http.StatusForbidden && strings.Contains(e.message, "for modifying tag"):
		return "the datacenter's user-tag-access keeps the token from tagging its machines: allow free tags, or give the token Sys.Modify on /",
			provider.ErrMisconfigured
	case e.status == http.StatusForbidden:
		return "give the token's role this permission; see docs/proxmox.md", provider.ErrMisconfigured
	case e.status == http.StatusBadRequest:
		return "the request has a value that Proxmox VE does not take; see spec.proxmox", provider.ErrRefused
	case e.status == http.StatusInternalServerError:
		return kindOfText(e.message)
	}
	return "", provider.ErrUnknown
}

// refusesField says that Proxmox VE answered 400 for the sake of this parameter.
func refusesField(err error, name string) bool {
	var e *provider.Error
	var a *answerError
	return errors.As(err, &e) && errors.As(e.Err, &a) && a.genuine && a.status == http.StatusBadRequest && a.fields[name] != ""
}

// texts are what a 500 or a failed task says. Proxmox VE has no codes: only the text tells a lock from a full disk. What
// is not listed is ErrUnknown, so that a text that changes costs a look and no machine.
var texts = []struct {
	part string
	kind error
	hint string
}{
	{"can't lock file", provider.ErrBusy, ""},
	{"VM is locked", provider.ErrBusy, "if nothing works on the VM any more, an operator may unlock it: qm unlock <vmid>"},
	{"no quorum", provider.ErrBusy, "the cluster has no quorum"},
	{"Permission denied", provider.ErrBusy, "the cluster has no quorum, or /etc/pve is read-only"},
	{"checksum mismatch", provider.ErrBusy, ""},
	{"is running - destroy failed", provider.ErrBusy, ""},
	{"protection mode enabled", provider.ErrRefused, "somebody protects the VM: qm set <vmid> --protection 0"},
	{"unable to create image", provider.ErrNoCapacity, "the storage is full or gone"},
	{"No space left on device", provider.ErrNoCapacity, "the storage is full"},
	{"not allowed for linked clones", provider.ErrMisconfigured, "set clone: Full, or leave storage away"},
	{"Linked clone feature is not supported", provider.ErrMisconfigured, "the template's storage cannot make linked clones: set clone: Full"},
	{"VM uses local storage", provider.ErrMisconfigured, "the template is on local storage: keep one on each host"},
	{"no such cluster node", provider.ErrMisconfigured, "spec.proxmox.placement names a host that is not there"},
	{"vcpus allowed per VM on this node", provider.ErrNoCapacity, "no host has that many cores"},
}

func kindOfText(text string) (hint string, kind error) {
	for _, t := range texts {
		if strings.Contains(text, t.part) {
			return t.hint, t.kind
		}
	}
	return "", provider.ErrUnknown
}
