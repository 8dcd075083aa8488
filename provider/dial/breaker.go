package dial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ErrOpen means that nothing was sent, because the backend did not answer the calls before.
var ErrOpen = errors.New("circuit is open: the backend does not answer")

// Breaker spares a backend that does not answer, and its callers the wait. After Failures calls in a row without an
// answer nothing is sent for Cool; then one call tries, and decides. Any answer counts, also one that is an error.
type Breaker struct {
	Next     http.RoundTripper
	Failures int
	Cool     time.Duration
	Now      func() time.Time

	mu     sync.Mutex
	failed int
	until  time.Time
	trying bool
}

// RoundTrip sends a request, or returns ErrOpen.
func (b *Breaker) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	resp, err := b.Next.RoundTrip(req)
	b.leave(err != nil && req.Context().Err() == nil, err == nil)
	return resp, err
}

// Do makes a call that is no HTTP request, or returns ErrOpen. The call says whether the backend answered, be it with an
// error.
func (b *Breaker) Do(ctx context.Context, call func() (answered bool, err error)) error {
	if err := b.enter(); err != nil {
		return err
	}
	answered, err := call()
	b.leave(!answered && ctx.Err() == nil, answered)
	return err
}

func (b *Breaker) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < b.Failures {
		return nil
	}
	if left := b.until.Sub(b.Now()); left > 0 || b.trying {
		return fmt.Errorf("%w (%d calls in a row; next try in %s)", ErrOpen, b.failed, max(left, 0).Round(time.Second))
	}
	b.trying = true
	return nil
}

// leave counts. A call that its caller gave up says nothing about the backend.
func (b *Breaker) leave(failed, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	switch {
	case answered:
		b.failed = 0
	case failed:
		b.failed++
		b.until = b.Now().Add(Jitter(b.Cool))
	}
}
