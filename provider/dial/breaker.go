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
	last   error // of the call that failed last, for people
	until  time.Time
	trying bool
}

// RoundTrip sends a request, or returns ErrOpen.
func (b *Breaker) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := b.enter(); err != nil {
		return nil, err
	}
	resp, err := b.Next.RoundTrip(req)
	b.leave(err != nil && req.Context().Err() == nil, err == nil, err)
	return resp, err
}

// Do makes a call that is no HTTP request, or returns ErrOpen. The call says whether the backend answered, be it with an
// error.
func (b *Breaker) Do(ctx context.Context, call func() (answered bool, err error)) error {
	if err := b.enter(); err != nil {
		return err
	}
	answered, err := call()
	b.leave(!answered && ctx.Err() == nil, answered, err)
	return err
}

func (b *Breaker) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < b.Failures {
		return nil
	}
	if left := b.until.Sub(b.Now()); left > 0 || b.trying {
		// The last error is told and not wrapped: what is to be done about it was for its own caller to decide.
		return fmt.Errorf("%w (%d calls in a row; next try in %s; the last: %v)", ErrOpen, b.failed, max(left, 0).Round(time.Second), b.last) //nolint:errorlint // see above
	}
	b.trying = true
	return nil
}

// leave counts. A call that its caller gave up says nothing about the backend.
func (b *Breaker) leave(failed, answered bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	switch {
	case answered:
		b.failed = 0
	case failed:
		b.failed++
		b.last = err
		b.until = b.Now().Add(Jitter(b.Cool))
	}
}
