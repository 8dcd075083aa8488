package dial

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// MaxAge is how old credentials may be when they are used: a Secret that changed is in use within this time.
const MaxAge = 60 * time.Second

// Read reads credentials, for example the data of a Secret.
type Read func(ctx context.Context) (map[string][]byte, error)

// Credentials keeps what was read for half of MaxAge. While reading fails, what is known is used until MaxAge.
type Credentials struct {
	// Name is what is read, for people; empty where an error of Read says it.
	Name string
	Read Read
	Now  func() time.Time

	mu    sync.Mutex
	known map[string]Secret
	at    time.Time
}

// Get returns the credentials, by key.
func (c *Credentials) Get(ctx context.Context) (map[string]Secret, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := c.Now().Sub(c.at)
	if c.known != nil && age < MaxAge/2 {
		return c.known, nil
	}
	began := c.Now()
	data, err := c.Read(ctx)
	if err != nil {
		if c.known != nil && age < MaxAge {
			return c.known, nil
		}
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	known := make(map[string]Secret, len(data))
	for key, value := range data {
		known[key] = Secret(value)
	}
	c.known, c.at = known, began
	return known, nil
}

// About says of an error in what was read where it stands.
func (c *Credentials) About(err error) error {
	if c.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", c.Name, err)
}

// Doubt has the next Get read again: the backend did not take what it was given.
func (c *Credentials) Doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

// Static is credentials that do not change.
func Static(data map[string]string) Read {
	return func(context.Context) (map[string][]byte, error) {
		out := make(map[string][]byte, len(data))
		for k, v := range data {
			out[k] = []byte(v)
		}
		return out, nil
	}
}
