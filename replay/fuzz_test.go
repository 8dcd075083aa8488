package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/muster-sh/muster/capacity"
)

// FuzzTrace: whatever is read, no row becomes a pod that asks for a negative amount, that cannot be sent, or that
// arrives before the one above; and a lenient reader stops at a row only where the file itself is broken.
func FuzzTrace(f *testing.F) {
	f.Add([]byte(traceHead + "10,1,60,71,1500,2048,2,1000,T4|P100,LS,web-1,web,Running,zone=a;ssd,1,,512,30\n"))
	f.Add([]byte("arrival_s,name,cpu_milli,memory_mib\n5,a,1,1\n4,b,1,1\n\"6\n\",c,1,1\n"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []TraceOptions{{}, {Lenient: true, GPU: GPUMilli}} {
			tr, err := NewTrace("pods.csv", bytes.NewReader(data), o)
			if err != nil {
				continue
			}
			fuzzRows(t, tr, o.Lenient)
		}
	})
}

func fuzzRows(t *testing.T, tr *Trace, lenient bool) {
	last := time.Duration(0)
	for {
		a, err := tr.Next()
		if err != nil {
			var bad *RowError
			if lenient && errors.As(err, &bad) && !errors.Is(err, io.EOF) {
				t.Fatalf("a lenient reader stopped at a row: %v", err)
			}
			return
		}
		if a.At < last || a.Runs < 0 || a.Leaves < 0 || a.Leaves > 0 && a.Leaves < a.At {
			t.Fatalf("arrival at %s after one at %s, runs %s, leaves %s", a.At, last, a.Runs, a.Leaves)
		}
		last = a.At
		r := capacity.NewAsk(a.Pod).Requests
		if r.MilliCPU < 0 || r.Memory < 0 || r.EphemeralStorage < 0 || r.Scalar[WholeGPU] < 0 || r.Scalar[MilliGPU] < 0 {
			t.Fatalf("a negative request: %+v", r)
		}
		if _, err := json.Marshal(a.Pod); err != nil {
			t.Fatal(err)
		}
	}
}
