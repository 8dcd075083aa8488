package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/replay"
)

// cutOff is a writer of progress that ends the replay at its first line.
type cutOff struct {
	bytes.Buffer
	end context.CancelFunc
}

func (c *cutOff) Write(p []byte) (int, error) {
	c.end()
	return c.Buffer.Write(p)
}

// cut runs a replay of most of a year whose progress is shown, which is interrupted when the first line of that is drawn.
func cut(t *testing.T, args ...string) string {
	t.Helper()
	day, err := os.ReadFile(replayData + "shaped/day.yaml")
	require.NoError(t, err)
	require.Contains(t, string(day), "length: 48h")
	year := filepath.Join(t.TempDir(), "year.yaml")
	require.NoError(t, os.WriteFile(year, bytes.Replace(day, []byte("length: 48h"), []byte("length: 8000h"), 1), 0o600))
	args = append([]string{
		"replay", "--pools", replayData + "pools.yaml", "--manifests", replayData + "shaped/apps.yaml", "--shape", year, "--progress=on",
	}, args...)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var stdout bytes.Buffer
	stderr := &cutOff{end: end}
	require.Zero(t, run(ctx, args, &stdout, stderr), stderr.String())
	require.Contains(t, stderr.String(), "interrupted", "who looks at the terminal is told")
	return stdout.String()
}

func TestAnInterruptedReplayKeepsItsTable(t *testing.T) {
	require.Contains(t, cut(t), "interrupted: what follows is what was seen until then")
	table := cut(t, "--sweep", "idleAfter=1m,5m")
	require.Equal(t, 2, strings.Count(table, "(interrupted)"), table)
}

func TestAnInterruptedReplayKeepsItsJSON(t *testing.T) {
	var s replay.Summary
	require.NoError(t, json.Unmarshal([]byte(cut(t, "--output", "json")), &s))
	require.True(t, s.Interrupted)
	var c replay.Comparison
	require.NoError(t, json.Unmarshal([]byte(cut(t, "--output", "json", "--sweep", "idleAfter=1m,5m")), &c))
	require.Len(t, c.Policies, 2)
	for _, p := range c.Policies {
		require.True(t, p.Interrupted)
	}
}

func TestAnInterruptedReplayKeepsItsPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	cut(t, "--html", file, "--sweep", "idleAfter=1m,5m")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(regexp.MustCompile("interrupted").FindAll(text, -1)), 2)
}
