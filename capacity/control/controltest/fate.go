// Package controltest plays stories over a backend with the loops of control as they are: what a node goes through, with a Muster
// that is killed at any of its deeds. A backend brings its wire, and tells what its machine really went through.
package controltest

import (
	"cmp"
	"errors"
	"net/http"
	"sync"
)

// Fate kills a process at one of its deeds: a request to a backend, or a write to the API server. The deed is carried out, and its
// answer is never heard; nothing that the dead process tries then is. As all that lasts is a deed, that is also the death before the
// next one.
type Fate struct {
	// ReadsPerDeed is how many requests that only read count as one deed, since nothing has changed between them but the time; 5
	// where it is 0.
	ReadsPerDeed int

	mu    sync.Mutex
	armed bool
	at    int // which deed, from 1
	done  int
	reads int
	dead  bool
}

// Request is Do for a request.
func (f *Fate) Request(req *http.Request, send func() error) error {
	if req.Method == http.MethodGet && !f.readCounts() {
		if f.Dead() {
			return ErrKilled
		}
		return send()
	}
	return f.Do(send)
}

func (f *Fate) readCounts() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return false
	}
	f.reads++
	return f.reads%cmp.Or(f.ReadsPerDeed, 5) == 0
}

// ErrKilled is what a process that is killed sees of the world.
var ErrKilled = errors.New("killed")

// Do carries a deed out, or not.
func (f *Fate) Do(deed func() error) error {
	f.mu.Lock()
	if f.dead {
		f.mu.Unlock()
		return ErrKilled
	}
	if f.armed {
		f.done++
		f.dead = f.done == f.at
	}
	dies := f.dead
	f.mu.Unlock()
	if err := deed(); !dies {
		return err
	}
	return ErrKilled
}

// Dead says that the process was killed.
func (f *Fate) Dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

func (f *Fate) arm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
}

// revive is the next process, which is not killed.
func (f *Fate) revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead, f.armed = false, false
}
