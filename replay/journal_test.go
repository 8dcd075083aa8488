package replay

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func recorded(t *testing.T) (*Journal, *World) {
	t.Helper()
	o, err := Story(0)
	require.NoError(t, err)
	r := new(Journal)
	o.Note = r.Note
	w, err := New(o)
	require.NoError(t, err)
	for w.Step() {
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
