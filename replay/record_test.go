package replay

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func recorded(t *testing.T) (*Record, *World) {
	t.Helper()
	o, err := Story(0)
	require.NoError(t, err)
	r := NewRecord()
	o.Note = r.Note
	w, err := New(o)
	require.NoError(t, err)
	for w.Step() {
		r.Sample(w.Status())
	}
	return r, w
}

func TestEventsAreLines(t *testing.T) {
	r, w := recorded(t)
	var out bytes.Buffer
	require.NoError(t, r.WriteEvents(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, len(r.Notes))
	bound, last := 0, 0.0
	for _, line := range lines {
		var n struct {
			At     float64 `json:"t_s"`
			Kind   string
			Reason string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &n))
		require.GreaterOrEqual(t, n.At, last)
		last = n.At
		bound += btoi(n.Kind == "Pod" && n.Reason == NoteBound)
	}
	require.Equal(t, w.Summary().Pods.Arrived, bound)
}

func TestPictureShowsEveryMachine(t *testing.T) {
	r, w := recorded(t)
	var out bytes.Buffer
	require.NoError(t, r.WritePicture(&out))
	d := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	rects, lines := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			rects += btoi(e.Name.Local == "rect")
			lines += btoi(e.Name.Local == "polyline")
		}
	}
	machines := w.Summary().Machines.Bought
	require.Len(t, r.machines(), machines)
	require.Equal(t, 6*machines, rects, "each is launched, joins, starts, is ready, drains and is released")
	require.Equal(t, 3, lines)
	require.NotContains(t, out.String(), "ZgotmplZ", "the template trusts every value")
	require.NotContains(t, out.String(), "http", "it needs nothing from elsewhere")
}

func TestAnEmptyRecordCanBeDrawn(t *testing.T) {
	require.NoError(t, NewRecord().WritePicture(io.Discard))
}
