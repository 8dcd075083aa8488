package extender

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// buffer is a reused byte slice: bodies and answers are as large as the cluster, and come thousands of times a second.
type buffer struct{ bytes []byte }

var buffers = sync.Pool{New: func() any { return &buffer{bytes: make([]byte, 0, 64<<10)} }}

// keptBuffer is the largest buffer that is kept, in bytes: the names of 5,000 nodes and their reasons fit.
const keptBuffer = 1 << 20

func takeBuffer() *buffer { return buffers.Get().(*buffer) }

func giveBuffer(b *buffer) {
	if cap(b.bytes) > keptBuffer {
		return
	}
	b.bytes = b.bytes[:0]
	buffers.Put(b)
}

// read takes in a whole body of at most limit bytes.
func (b *buffer) read(w http.ResponseWriter, r *http.Request, limit int64) error {
	// What is announced is believed up to a size that costs nothing: the rest must come before room is made for it.
	if n := int(min(r.ContentLength, limit, keptBuffer-1)); n >= cap(b.bytes) {
		b.bytes = make([]byte, 0, n+1) // one more, so that the end is seen without growing
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = append(b.bytes, 0)[:len(b.bytes)]
		}
		n, err := body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
