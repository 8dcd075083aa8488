package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/extender"
	"github.com/muster-sh/muster/replay/recording"
)

const defaultRecordSize = "1Gi"

// recordFlags are those of `muster serve` about recording.
type recordFlags struct {
	folder  string
	size    string
	age     time.Duration
	keyFile string
}

func (f *recordFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.folder, "record", "", "folder to record what Muster sees and does to, for muster replay; nothing is recorded without it")
	fs.StringVar(&f.size, "record-max-size", defaultRecordSize, "most bytes of recordings in that folder; the oldest go first")
	fs.DurationVar(&f.age, "record-max-age", recording.DefaultAge, "how long recordings are kept")
	fs.StringVar(&f.keyFile, "record-hash-key-file", "", "file with a key by which names of pods, namespaces, owners and nodes are hashed")
}

// check refuses flags that say how to record where nothing is recorded.
func (f *recordFlags) check() error {
	if f.folder == "" && (f.size != defaultRecordSize || f.age != recording.DefaultAge || f.keyFile != "") {
		return errors.New("--record-max-size, --record-max-age and --record-hash-key-file mean nothing without --record FOLDER")
	}
	return nil
}

// options are what the flags ask for; nil when nothing is to be recorded.
func (f *recordFlags) options(place, guard []string, log *slog.Logger) (*recording.Options, error) {
	if f.folder == "" {
		return nil, nil //nolint:nilnil // not recording is no error
	}
	size, err := resource.ParseQuantity(f.size)
	if err != nil || size.Value() < recording.MinSize {
		return nil, fmt.Errorf("--record-max-size %q: use bytes from %d up, for example 512Mi", f.size, int64(recording.MinSize))
	}
	if f.age <= 0 {
		return nil, fmt.Errorf("--record-max-age %s: use a duration above zero, for example 72h", f.age)
	}
	var key []byte
	if f.keyFile != "" {
		if key, err = os.ReadFile(f.keyFile); err != nil {
			return nil, fmt.Errorf("--record-hash-key-file: %w", err)
		}
		if len(key) < 16 {
			return nil, fmt.Errorf("--record-hash-key-file %s: %d bytes are too few for a key: use 16 or more", f.keyFile, len(key))
		}
	}
	id := make([]byte, 4)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	return &recording.Options{
		Folder: f.folder, Size: size.Value(), Age: f.age, FileSize: min(recording.DefaultFileSize, size.Value()/4),
		FileAge: recording.DefaultFileAge, Key: key, Log: log, Now: time.Now,
		Header: recording.Header{Recording: hex.EncodeToString(id), Version: version(), Place: place, Guard: guard},
	}, nil
}

// record has the program's parts tell a recorder what they see and do.
func (p *program) record() error {
	o, err := p.flags.record.options(p.flags.place, p.flags.guard, p.log)
	if err != nil || o == nil {
		return err
	}
	p.recorder = recording.NewWriter(*o)
	if err := p.recorder.Open(); err != nil {
		return err
	}
	p.feed.Observe(p.recorder.Object)
	if p.backends != nil { // a shadow calls nobody
		p.backends.calls.observe = p.recorder.Did
	}
	registerRecorder(p.metrics, p.recorder)
	return nil
}

// recordJudgement passes a judgement of the gate on.
func (p *program) recordJudgement(j control.Judgement) {
	if p.recorder == nil {
		return
	}
	p.recorder.Judged(recording.Judgement{Act: string(j.Act), ClaimUID: string(j.Subject.ClaimUID), Answer: j.Answer(), Clauses: j.Clauses()})
}

// observeCall passes a call on; nil where nobody records.
func (p *program) observeCall() func(extender.Observation) {
	if p.recorder == nil {
		return nil
	}
	return func(o extender.Observation) {
		p.recorder.Call(recording.Call{
			Verb: o.Verb, Number: o.Number, Pod: string(o.Pod), Offered: o.Offered, Node: o.Node, Passed: o.Passed,
			Refused: o.Refused, Error: o.Error, Micros: o.Took.Microseconds(),
		})
	}
}

func registerRecorder(r prometheus.Registerer, w *recording.Writer) {
	for name, c := range map[string]struct {
		help string
		of   func(recording.Totals) float64
	}{
		"muster_recording_entries_total": {"Entries written to the recording.", func(t recording.Totals) float64 { return float64(t.Written) }},
		"muster_recording_lost_total":    {"Calls left out of the recording because they came too fast.", func(t recording.Totals) float64 { return float64(t.Lost) }},
		"muster_recording_failed_total":  {"Entries that could not be written to the disk.", func(t recording.Totals) float64 { return float64(t.Failed) }},
		"muster_recording_bytes_total":   {"Compressed bytes of the recording.", func(t recording.Totals) float64 { return float64(t.Bytes) }},
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: c.help},
			func() float64 { return c.of(w.Totals()) }))
	}
}

func newRecordCommand(stdout io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "record", Short: "Look at what muster serve --record wrote"}
	var output string
	inspect := &cobra.Command{
		Use:     "inspect PATH",
		Short:   "Sum up a recording: a folder of files, or one file",
		Long:    "Inspect says what a recording holds. A file that is damaged or was cut off is read up to there, and named.",
		Example: "  muster record inspect /var/lib/muster/recording",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q: use text or json", output)
			}
			s, err := recording.Inspect(args[0])
			if err != nil {
				return fmt.Errorf("read the recording: %w", err)
			}
			if output == "json" {
				return writeJSON(stdout, s)
			}
			return s.WriteText(stdout)
		},
	}
	inspect.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.AddCommand(inspect)
	return cmd
}
