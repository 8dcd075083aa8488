package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Options say where a recording goes and how large it may be.
type Options struct {
	Folder string
	// Header is what every file begins with; Schema, File and Started are filled in.
	Header Header
	// FileSize and FileAge end a file, Size and Age bound all files of the folder: the oldest go first. Bytes are those
	// on disk.
	FileSize, Size int64
	FileAge, Age   time.Duration
	// Key hashes names; empty leaves them as they are.
	Key []byte
	Log *slog.Logger
	Now func() time.Time
}

// The bounds unless others are given.
const (
	DefaultFileSize = 64 << 20
	DefaultFileAge  = time.Hour
	DefaultSize     = 1 << 30
	DefaultAge      = 7 * 24 * time.Hour
	// MinSize is the least that a folder may be bounded to.
	MinSize = 1 << 20
)

// maxQueue is how many calls wait to be written at most; more are counted and left out.
const maxQueue = 16_384

// Writer takes in what happens and never makes anybody wait: objects are remembered in their newest version until they are
// written, calls queue up to a bound.
type Writer struct {
	options Options
	hash    hasher
	wake    chan struct{}

	mu      sync.Mutex
	changed map[types.UID]int // place in objects
	objects []pending
	calls   []Entry
	lost    uint64 // since the last entry
	total   Totals

	state map[types.UID]Object // as last written; this and files belong to whoever drains
	files *files
}

// Totals count what a Writer was told since it began.
type Totals struct {
	Written, Lost, Merged, Failed uint64
	Bytes                         int64
}

type pending struct {
	at   time.Time
	kind string
	of   metav1.Object // of the allow-list
	gone bool
}

// NewWriter makes a Writer; Run writes.
func NewWriter(o Options) *Writer {
	state := map[types.UID]Object{}
	return &Writer{
		options: o, hash: hasher{key: o.Key}, wake: make(chan struct{}, 1), changed: map[types.UID]int{},
		state: state, files: &files{options: o, state: state},
	}
}

// Object takes in a new version of an object, or its end. The object must not be changed afterwards.
func (w *Writer) Object(o metav1.Object, gone bool) {
	kind, copied := allowed(o) // at once, so that the rest of the object is not kept until it is written
	if copied == nil {
		return
	}
	next := pending{at: w.options.Now(), kind: kind, of: copied, gone: gone}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i, there := w.changed[o.GetUID()]; there && w.objects[i].gone == gone {
		// The time is that of the first of them: what is merged happened within one turn of the loop.
		w.objects[i].of = copied
		w.total.Merged++
		return
	}
	w.changed[o.GetUID()] = len(w.objects)
	w.objects = append(w.objects, next)
	w.poke()
}

// Call takes in a scheduler's call.
func (w *Writer) Call(c Call) { w.queue(Entry{At: w.options.Now(), Call: &c}) }

// Did takes in a provider's call.
func (w *Writer) Did(c ProviderCall) { w.queue(Entry{At: w.options.Now(), Did: &c}) }

// Judged takes in a judgement of the gate.
func (w *Writer) Judged(j Judgement) { w.queue(Entry{At: w.options.Now(), Gate: &j}) }

func (w *Writer) queue(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) >= maxQueue {
		w.lost++
		w.total.Lost++
		return
	}
	e.Lost, w.lost = w.lost, 0
	w.calls = append(w.calls, e)
	w.poke()
}

func (w *Writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Totals is what became of everything so far.
func (w *Writer) Totals() Totals {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// turn is how long what comes is gathered before it is written.
const turn = 250 * time.Millisecond

// Open begins the first file, so that a folder that cannot be written to is known at once.
func (w *Writer) Open() error {
	if err := w.files.begin(); err != nil {
		return fmt.Errorf("record to %s: %w", w.options.Folder, err)
	}
	return nil
}

// Run writes until ctx ends, and then what is left. Open comes first. A disk that fails is told to the log and tried again
// later; nobody else notices.
func (w *Writer) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			w.Drain()
			return w.Close()
		case <-w.wake:
		}
		w.Drain()
		select {
		case <-ctx.Done():
		case <-time.After(turn):
		}
	}
}

// Close ends the file that is being written.
func (w *Writer) Close() error { return w.files.close() }

// Drain writes all that has come, in the order of its time.
func (w *Writer) Drain() {
	w.mu.Lock()
	objects, calls := w.objects, w.calls
	w.objects, w.calls = nil, nil
	clear(w.changed)
	w.mu.Unlock()
	var failed uint64
	count := func(err error) {
		if err == nil {
			return
		}
		failed++
		if !errors.Is(err, errLater) {
			w.options.Log.Error("could not record", "folder", w.options.Folder, "error", err)
		}
	}
	for len(objects)+len(calls) > 0 {
		if len(calls) == 0 || len(objects) > 0 && !calls[0].At.Before(objects[0].at) {
			count(w.write(objects[0]))
			objects = objects[1:]
			continue
		}
		w.hash.call(&calls[0])
		count(w.files.write(calls[0]))
		calls = calls[1:]
	}
	count(w.files.flush())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total.Failed += failed
	w.total.Written, w.total.Bytes = w.files.entries, w.files.bytes
}

func (w *Writer) write(p pending) error {
	copied := w.hash.object(p.of)
	o := Object{Kind: p.kind, Gone: p.gone}
	if p.gone {
		copied = &metav1.ObjectMeta{Namespace: copied.GetNamespace(), Name: copied.GetName(), UID: copied.GetUID()}
	}
	var err error
	if o.Body, err = bodyOf(copied); err != nil {
		return err
	}
	if old, there := w.state[p.of.GetUID()]; there && !p.gone && string(old.Body) == string(o.Body) {
		return nil // nothing changed of what is recorded
	}
	if p.gone {
		delete(w.state, p.of.GetUID())
	} else {
		w.state[p.of.GetUID()] = o
	}
	return w.files.write(Entry{At: p.at, Object: &o})
}

// bodyOf puts bare metadata where an object has it.
func bodyOf(o metav1.Object) (json.RawMessage, error) {
	if m, bare := o.(*metav1.ObjectMeta); bare {
		return json.Marshal(struct {
			Metadata *metav1.ObjectMeta `json:"metadata"`
		}{m})
	}
	return json.Marshal(o)
}
