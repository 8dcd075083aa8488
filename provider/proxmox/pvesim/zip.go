package pvesim

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"sync"
)

// writers are used again: each new one takes the better part of a megabyte, more than all else a test of a VM does. A sync.Pool
// would make new ones all the time under the race detector, which has it throw away what it is given.
var writers struct {
	sync.Mutex
	idle []*gzip.Writer
}

func compress(body []byte) []byte {
	w := takeWriter()
	var small bytes.Buffer
	w.Reset(&small)
	_, _ = w.Write(body) // to memory
	_ = w.Close()
	writers.Lock()
	defer writers.Unlock()
	writers.idle = append(writers.idle, w)
	return small.Bytes()
}

func takeWriter() *gzip.Writer {
	writers.Lock()
	defer writers.Unlock()
	last := len(writers.idle) - 1
	if last < 0 {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one that there is
		return w
	}
	w := writers.idle[last]
	writers.idle = writers.idle[:last]
	return w
}

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
		body = compress(body)
		z.Header().Set("Content-Encoding", "gzip")
		z.Header().Set("ETag", `W/"1-gzip"`)
	}
	if z.status != 0 {
		z.ResponseWriter.WriteHeader(z.status)
	}
	_, _ = z.ResponseWriter.Write(body)
}
