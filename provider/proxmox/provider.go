// Package proxmox makes machines on a Proxmox VE cluster through github.com/luthermonson/go-proxmox. Nothing here waits for
// a task: each verb looks, does what comes next, and returns; what was asked for is recognised by what the VM carries, so a
// restart loses nothing. It touches no VM outside its range of numbers, no template, and none whose whole identity does not
// agree.
package proxmox

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
)

// Config is what a Provider is made of.
type Config struct {
	// Name is that of the Provider object; it is part of the mark on each machine.
	Name string
	// Endpoint is a host of the cluster; Spec.Endpoints are further ones.
	Endpoint string
	Spec     *v1alpha1.Proxmox
	// Credentials have the keys tokenID and tokenSecret.
	Credentials *dial.Credentials
	// Transport is the connection without retries. Where there are further endpoints it is an http.Transport at its end,
	// which says whether there was a connection.
	Transport http.RoundTripper
	// Templates reads the Secret that spec.join names, and Tokens keeps what machines join with.
	Templates func(ctx context.Context, ref v1alpha1.SecretReference) (map[string][]byte, error)
	Tokens    Tokens
	Now       func() time.Time
	// ViewAge is how old a look at the cluster may be when it is used again; 0 looks each time.
	ViewAge time.Duration
	// Pause is the first wait before something is tried again; 200 ms unless given.
	Pause time.Duration
}

// Provider makes machines on one Proxmox VE cluster.
type Provider struct {
	config Config
	spec   *v1alpha1.Proxmox
	client *client
	now    func() time.Time
	claims keyed

	changes atomic.Int64 // counts what we changed

	viewing     sync.Mutex // guards the look and the permissions
	view        *view
	viewAt      time.Time
	viewChanges int64
	rights      rights
	rightsAt    time.Time

	mu       sync.Mutex // guards what is below
	works    map[int]*work
	reserved map[int]owner
	known    map[int]knownMark
	started  map[int]owner
	asked    map[int]shutdown // whose guest was asked to shut down
	deleting map[int]owner
	storages map[int]knownTemplate
	uploaded map[int]owner // whose image is where it belongs, and not yet in its drive
	last     string        // the host chosen last
}

var _ provider.Provider = (*Provider)(nil)

// New checks the configuration and calls nobody.
func New(c Config) (*Provider, error) {
	if c.Spec == nil {
		return nil, fmt.Errorf("spec.proxmox is not set")
	}
	if err := checkSpec(c.Spec); err != nil {
		return nil, err
	}
	if err := checkEndpoints(c.Endpoint, c.Spec.Endpoints); err != nil {
		return nil, err
	}
	if c.Pause <= 0 {
		c.Pause = 200 * time.Millisecond
	}
	return &Provider{config: c, spec: c.Spec, client: newClient(newEndpoints(c), c.Credentials, c.Pause), now: c.Now,
		works: map[int]*work{}, reserved: map[int]owner{}, known: map[int]knownMark{}, started: map[int]owner{}, asked: map[int]shutdown{},
		deleting: map[int]owner{}, storages: map[int]knownTemplate{}, uploaded: map[int]owner{}}, nil
}

// keyed has one lock for each key.
type keyed struct {
	mu    sync.Mutex
	locks map[string]*held
}

type held struct {
	sync.Mutex
	users int
}

// lock waits for the key and returns how to let go of it.
func (k *keyed) lock(key string) (unlock func()) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*held{}
	}
	h := k.locks[key]
	if h == nil {
		h = &held{}
		k.locks[key] = h
	}
	h.users++
	k.mu.Unlock()
	h.Lock()
	return func() {
		h.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(k.locks, key)
		}
	}
}

// over says that nobody waits for the answer any more.
func over(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: err}
	}
	return nil
}
