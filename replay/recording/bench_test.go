package recording

import (
	"log/slog"
	"testing"
	"time"
)

// BenchmarkTell is what telling a recorder costs the one who tells, while it writes beside it.
func BenchmarkTell(b *testing.B) {
	w := NewWriter(Options{
		Folder: b.TempDir(), FileSize: DefaultFileSize, Size: DefaultSize, FileAge: DefaultFileAge, Age: DefaultAge,
		Header: Header{Recording: "bench"}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err := w.Open(); err != nil {
		b.Fatal(err)
	}
	go func() { _ = w.Run(b.Context()) }() // until the benchmark ends
	b.Run("call", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			w.Call(Call{Verb: "place/filter", Number: uint64(i), Pod: "8a5f3f5e-0000-4000-8000-000000000000", Offered: 1000, Passed: 1, Node: "worker-0001"}) //nolint:gosec // counts up from 0
		}
	})
	b.Run("pod", func(b *testing.B) {
		p := podNamed("web")
		for b.Loop() {
			w.Object(p, false)
		}
	})
	t := w.Totals()
	b.Logf("%d written, %d lost, %d merged", t.Written, t.Lost, t.Merged)
}
