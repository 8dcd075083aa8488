package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/muster-sh/muster/replay"
)

func makeFolder(path string) error { return os.MkdirAll(path, 0o755) } //nolint:gosec // for everybody to read

// writeStory writes the three files of a story.
func writeStory(folder string, s replay.Summary, r *replay.Record) error {
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"events.jsonl", r.WriteEvents},
		{"summary.json", func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(s)
		}},
		{"picture.html", r.WritePicture},
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
