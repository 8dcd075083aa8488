package pvesim

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"sync"
)

// writers are used again: each new one takes the better part of a megabyte, more than all else a test of a VM does.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// zipped compresses answers above 1 KiB, as pveproxy does for who asks for it, with an ETag that says so.
type zipped struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader waits: whether the answer is compressed is known at its end.
func (z *zipped) WriteHeader(status int) { z.status = status }

// Write collects the answer.
func (z *zipped) Write(b []byte) (int, error) { return z.body.Write(b) }

func (z *zipped) flush() {
	body := z.body.Bytes()
	if len(body) > 1024 {
		var small bytes.Buffer
		w := writers.Get().(*gzip.Writer)
		w.Reset(&small)
		_, _ = w.Write(body) // to memory
		_ = w.Close()
		writers.Put(w)
		body = small.Bytes()
		z.Header().Set("Content-Encoding", "gzip")
		z.Header().Set("ETag", `W/"1-gzip"`)
	}
	if z.status != 0 {
		z.ResponseWriter.WriteHeader(z.status)
	}
	_, _ = z.ResponseWriter.Write(body)
}
