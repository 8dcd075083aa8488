package policy

import (
	"hash/fnv"
	"strconv"
	"time"
)

// Backoff is the wait after failures in a row: it starts at First and doubles up to Most.
type Backoff struct {
	First, Most time.Duration
}

// Wait is how long to wait after this many failures in a row, 0 after none. Up to a quarter is taken off, depending on
// the key and the number only, so that things that failed together do not come back together; it is never less than
// First.
func (b Backoff) Wait(failures int, key string) time.Duration {
	if failures <= 0 {
		return 0
	}
	d := min(b.First, b.Most)
	for i := 1; i < failures && d < b.Most; i++ {
		d = min(2*d, b.Most)
		if d <= 0 { // doubled past the largest duration
			d = b.Most
		}
	}
	return max(d-time.Duration(float64(d)/4*share(key, failures)), min(b.First, b.Most))
}

// share is a number in [0,1) that depends on its arguments only.
func share(key string, n int) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key + "/" + strconv.Itoa(n)))
	return float64(h.Sum32()) / (1 << 32)
}
