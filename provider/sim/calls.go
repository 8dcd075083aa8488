package sim

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxCalls is how many calls are remembered; of more, the oldest are forgotten.
const maxCalls = 100_000

// Call is one call to the server, in the answer of GET /calls.
type Call struct {
	At       time.Time `json:"at"`
	Verb     string    `json:"verb"` // create, get, list, delete or stop
	Claim    string    `json:"claim,omitempty"`
	ClaimUID types.UID `json:"claimUID,omitempty"`
	Attempt  int32     `json:"attempt,omitempty"`
	// Code is the error's code on the wire, empty when there was none.
	Code string `json:"code,omitempty"`
}

type callLog struct {
	mu    sync.Mutex
	calls []Call
	first int // where the oldest is once the log is full
}

func (l *callLog) add(c Call, err error) {
	if err != nil {
		_, e := toWire(err)
		c.Code = e.Code
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) < maxCalls {
		l.calls = append(l.calls, c)
		return
	}
	l.calls[l.first] = c
	l.first = (l.first + 1) % maxCalls
}

func (l *callLog) all() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Call, 0, len(l.calls))
	return append(append(out, l.calls[l.first:]...), l.calls[:l.first]...)
}
