package recording

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// suffix ends the names of all files of recordings; nothing else in a folder is touched.
const suffix = ".muster.jsonl.gz"

// files are the file that is being written, and the rotation of those before it.
type files struct {
	options Options
	state   map[types.UID]Object
	count   int
	entries uint64
	bytes   int64 // of all files of this process

	file  *os.File
	zip   *gzip.Writer
	json  *json.Encoder
	size  *counter
	since time.Time
	dirty bool
	retry time.Time // not before then, after a failure
}

// errLater says that the disk failed lately and is not tried yet.
var errLater = errors.New("waits for the disk")

const retryAfter = time.Minute

// counter counts what reaches the disk.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// begin opens the next file and writes into it what exists.
func (f *files) begin() error {
	now := f.options.Now()
	if err := os.MkdirAll(f.options.Folder, 0o700); err != nil {
		return err
	}
	h := f.options.Header
	h.Schema, h.File, h.Started, h.Hashed = Schema, f.count+1, now, len(f.options.Key) > 0
	name := fmt.Sprintf("%s-%s-%06d%s", now.UTC().Format("20060102T150405.000Z"), h.Recording, h.File, suffix)
	file, err := os.OpenFile(filepath.Join(f.options.Folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.count++
	f.file, f.size, f.since = file, &counter{to: file}, now
	f.zip = gzip.NewWriter(f.size)
	f.json = json.NewEncoder(f.zip)
	if err := f.json.Encode(h); err != nil {
		return err
	}
	for _, o := range f.standing() {
		if err := f.json.Encode(Entry{At: now, Object: &o}); err != nil {
			return err
		}
	}
	f.dirty = true
	return f.flush()
}

// standing are the objects that exist, nodes and pools before the pods that refer to them.
func (f *files) standing() []Object {
	order := []string{"Provider", "NodePool", "DaemonSet", "Node", "NodeClaim", "Pod"}
	var all []Object
	for _, uid := range slices.Sorted(maps.Keys(f.state)) {
		o := f.state[uid]
		o.There = true
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b Object) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return all
}

// write writes an entry, into a new file where the present one is full or old.
func (f *files) write(e Entry) error {
	if f.file != nil && (f.size.n >= f.options.FileSize || e.At.Sub(f.since) >= f.options.FileAge) {
		if err := f.close(); err != nil {
			return err
		}
	}
	if f.file == nil {
		if e.At.Before(f.retry) {
			return errLater
		}
		if err := f.begin(); err != nil {
			f.abandon()
			return err
		}
		if err := f.prune(); err != nil {
			return err
		}
	}
	if err := f.json.Encode(e); err != nil {
		f.abandon()
		return err
	}
	f.entries++
	f.dirty = true
	return nil
}

// flush makes all that was written readable, also when the process is killed now.
func (f *files) flush() error {
	if f.file == nil || !f.dirty {
		return nil
	}
	before := f.size.n
	if err := f.zip.Flush(); err != nil {
		f.abandon()
		return err
	}
	f.bytes += f.size.n - before
	f.dirty = false
	return nil
}

func (f *files) close() error {
	if f.file == nil {
		return nil
	}
	before := f.size.n
	err := f.zip.Close()
	f.bytes += f.size.n - before
	err = errors.Join(err, f.file.Close())
	f.file = nil
	return err
}

// abandon leaves a file that cannot be written to as it is, and the disk alone for a while.
func (f *files) abandon() {
	f.retry = f.options.Now().Add(retryAfter)
	if f.file != nil {
		_ = f.file.Close() // it failed already, and that was told
		f.file = nil
	}
}

// prune removes the oldest files until the folder is within its bounds; the one being written stays.
func (f *files) prune() error {
	names, err := list(f.options.Folder)
	if err != nil {
		return err
	}
	var total int64
	var errs []error
	for i := len(names) - 1; i >= 0; i-- {
		info, err := os.Stat(names[i])
		if err != nil {
			continue // somebody else removed it
		}
		total += info.Size()
		old := f.options.Now().Sub(info.ModTime()) > f.options.Age
		if names[i] != f.file.Name() && (old || total > f.options.Size) {
			errs = append(errs, os.Remove(names[i]))
		}
	}
	return errors.Join(errs...)
}

// list names the files of a folder, or the one file that path is, in the order in which they were written.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	return names, nil // ReadDir sorts, and names begin with their time
}
