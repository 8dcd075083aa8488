package sim

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// The wire format is JSON. Every answer is one of these, with a Content-Length; an answer that is not whole is none.
type (
	// wireRequest asks for a machine: POST /machines.
	wireRequest struct {
		Claim     string              `json:"claim"`
		ClaimUID  types.UID           `json:"claimUID"`
		Attempt   int32               `json:"attempt"`
		Pool      string              `json:"pool,omitempty"`
		Shape     string              `json:"shape,omitempty"`
		Cluster   types.UID           `json:"cluster,omitempty"`
		Resources corev1.ResourceList `json:"resources"`
		Overhead  corev1.ResourceList `json:"overhead,omitempty"`
	}
	// wireMachine is a machine in an answer.
	wireMachine struct {
		ID           provider.ID              `json:"id"`
		Claim        string                   `json:"claim"`
		ClaimUID     types.UID                `json:"claimUID"`
		Attempt      int32                    `json:"attempt"`
		Cluster      types.UID                `json:"cluster,omitempty"`
		State        provider.State           `json:"state"`
		ProviderID   string                   `json:"providerID,omitempty"`
		SystemUUID   string                   `json:"systemUUID,omitempty"`
		NodeName     string                   `json:"nodeName,omitempty"`
		Identity     v1alpha1.MachineIdentity `json:"identity"`
		On           bool                     `json:"on,omitempty"`
		Twins        string                   `json:"twins,omitempty"`
		NeverStarted bool                     `json:"neverStarted,omitempty"`
		Host         string                   `json:"host,omitempty"`
		Rack         string                   `json:"rack,omitempty"`
		Zone         string                   `json:"zone,omitempty"`
		Created      time.Time                `json:"created"`
		Seeded       bool                     `json:"seeded,omitempty"`
		Message      string                   `json:"message,omitempty"`
	}
	// wireList answers GET /machines. Complete is always true: its absence tells a client that this is no such list.
	wireList struct {
		Machines []wireMachine `json:"machines"`
		Complete bool          `json:"complete"`
	}
	// wireDeleted answers DELETE /machines/{uid}.
	wireDeleted struct {
		Accepted bool `json:"accepted"`
	}
	// wireError is every answer that is not 200.
	wireError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
)

// wireErrors are the typed errors on the wire. A status alone means nothing: a 404 without its code may come from
// somebody who is not the backend.
var wireErrors = []struct {
	code   string
	status int
	err    error
}{
	{"NotFound", http.StatusNotFound, provider.ErrNotFound},
	{"NoCapacity", http.StatusInsufficientStorage, provider.ErrNoCapacity},
	{"Busy", http.StatusConflict, provider.ErrBusy},
	{"Refused", http.StatusUnprocessableEntity, provider.ErrRefused},
	{"Misconfigured", http.StatusForbidden, provider.ErrMisconfigured},
	{"Unknown", http.StatusInternalServerError, provider.ErrUnknown},
}

// toWire returns the status and body for an error of a verb.
func toWire(err error) (int, wireError) {
	for _, e := range wireErrors {
		if errors.Is(err, e.err) {
			return e.status, wireError{Code: e.code, Message: err.Error()}
		}
	}
	return http.StatusInternalServerError, wireError{Code: "Unknown", Message: err.Error()}
}

// fromWire is the way back; what is not one of our errors is ErrUnknown.
func fromWire(status int, e wireError) error {
	for _, known := range wireErrors {
		if status == known.status && e.Code == known.code {
			return remote{message: e.Message, err: known.err}
		}
	}
	return fmt.Errorf("answer %d %q: %s: %w", status, e.Code, e.Message, provider.ErrUnknown)
}

// remote is an error of the other side: its text holds the error's own already.
type remote struct {
	message string
	err     error
}

func (r remote) Error() string { return r.message }
func (r remote) Unwrap() error { return r.err }

func (w wireRequest) request() provider.Request {
	return provider.Request{Claim: w.Claim, ClaimUID: w.ClaimUID, Attempt: w.Attempt, Pool: w.Pool, Shape: w.Shape,
		Cluster: w.Cluster, Resources: w.Resources, Overhead: w.Overhead}
}

func toWireRequest(r provider.Request) wireRequest {
	return wireRequest{Claim: r.Claim, ClaimUID: r.ClaimUID, Attempt: r.Attempt, Pool: r.Pool, Shape: r.Shape,
		Cluster: r.Cluster, Resources: r.Resources, Overhead: r.Overhead}
}

func (w wireMachine) machine() provider.Machine { return provider.Machine(w) }

// sound reports whether this can be the answer about a machine of ours.
func (w wireMachine) sound() error {
	switch w.State {
	case provider.StatePending, provider.StateCreating, provider.StateRunning, provider.StateDeleting, provider.StateFailed:
	default:
		return fmt.Errorf("machine %q is in state %q: %w", w.ID, w.State, provider.ErrUnknown)
	}
	if w.ID == "" || w.Claim == "" || w.ClaimUID == "" || w.Attempt < 1 {
		return fmt.Errorf("machine %q of claim %q, UID %q, attempt %d: not whole: %w", w.ID, w.Claim, w.ClaimUID, w.Attempt,
			provider.ErrUnknown)
	}
	return nil
}
