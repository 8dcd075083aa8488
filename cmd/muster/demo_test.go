package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/replay"
)

func TestDemoTellsTheWholeStory(t *testing.T) {
	out := filepath.Join(t.TempDir(), "story")
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"demo", "--speed", "0", "--out", out}, &stdout, &stderr), stderr.String())
	text := stdout.String()
	for _, step := range []string{
		"pod      web-0              Arrived", "web-0              MachineOrdered waits for machine general-000",
		"machine  general-000        Ready", "web-0              Bound          to node general-000",
		"train-0            Bound", "web-0              Deleted", "machine  general-000        Gone",
		"every pod was served, every machine was given back, nothing was left behind",
	} {
		at := strings.Index(text, step)
		require.GreaterOrEqual(t, at, 0, "missing or too early: %s", step)
		text = text[at:]
	}
	require.NotContains(t, stdout.String(), "\x1b", "no terminal, no control characters")

	data, err := os.ReadFile(filepath.Join(out, "summary.json"))
	require.NoError(t, err)
	var s replay.Summary
	require.NoError(t, json.Unmarshal(data, &s))
	require.Equal(t, replay.Schema, s.Schema)
	require.Equal(t, 24, s.Pods.Arrived)
	for _, name := range []string{"events.jsonl", "picture.html"} {
		info, err := os.Stat(filepath.Join(out, name))
		require.NoError(t, err)
		require.NotZero(t, info.Size())
	}
}

func TestDemoRefusesNonsense(t *testing.T) {
	for _, args := range [][]string{{"--speed", "-1"}, {"--speed", "NaN"}, {"--out", "/dev/null/x"}, {"extra"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, run(t.Context(), append([]string{"demo"}, args...), &stdout, &stderr), args)
		require.NotEmpty(t, stderr.String())
	}
}

func TestDemoEndsCleanlyWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(ctx, []string{"demo"}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "interrupted")
	require.NotContains(t, stdout.String(), "every pod was served")
}

func TestPictureHasALaneForEveryMachine(t *testing.T) {
	options, err := replay.Story(0)
	require.NoError(t, err)
	s := &screen{speed: 10, tty: os.Stderr}
	options.Note = s.note
	world, err := replay.New(options)
	require.NoError(t, err)
	require.True(t, world.RunUntil(replay.Zero.Add(time.Minute)))
	text := strings.Join(s.picture(world, 200), "\n")
	require.Contains(t, text, "10 placed")
	require.Contains(t, text, "general-000  large  Ready      #############-------  65% cpu  web-0 web-1")
	require.Contains(t, text, "web-0, 9 more")
	require.Contains(t, strings.Join(s.picture(world, 70), "\n"), "10 pods", "where there is no room for names")
	require.LessOrEqual(t, len(s.notes), keptNotes)
}

func TestDemoFailsWhenTheStoryDoesNotEndAsItMust(t *testing.T) {
	options, err := replay.Story(0)
	require.NoError(t, err)
	world, err := replay.New(options)
	require.NoError(t, err)
	require.True(t, world.RunUntil(replay.Zero.Add(time.Minute)))
	var stdout bytes.Buffer
	err = endDemo(world, new(replay.Journal), demoFlags{}, false, &stdout)
	require.EqualError(t, err, "the story did not end as it must: 10 pods are still there")
	require.NotContains(t, stdout.String(), "every pod was served")
}
