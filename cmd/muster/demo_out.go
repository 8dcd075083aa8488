package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/muster-sh/muster/replay"
	"github.com/muster-sh/muster/replay/page"
)

func makeFolder(path string) error { return os.MkdirAll(path, 0o755) } //nolint:gosec // for everybody to read

// writeStory writes the three files of a story.
func writeStory(folder string, s replay.Summary, j *replay.Journal, line *replay.Timeline) error {
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"events.jsonl", j.WriteEvents},
		{"summary.json", func(w io.Writer) error { return writeJSON(w, s) }},
		{"picture.html", func(w io.Writer) error {
			alone := replay.Compare([]replay.Outcome{{Name: "demo", Summary: s}}, replay.WaitMean)
			return page.Write(w, "The story of muster demo", alone, []*replay.Timeline{line})
		}},
	} {
		if err := writeFile(filepath.Join(folder, file.name), file.write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
