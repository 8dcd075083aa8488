package recording

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Summary is what a recording holds, in numbers.
type Summary struct {
	Files   int       `json:"files"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Version string    `json:"version"`
	Place   []string  `json:"place"`
	Guard   []string  `json:"guard"`
	Hashed  bool      `json:"hashed"`
	// Entries counts lines other than headers.
	Entries int `json:"entries"`
	// Objects counts the different objects by kind, Changes the versions of them.
	Objects map[string]int `json:"objects"`
	Changes map[string]int `json:"changes"`
	// Calls counts the scheduler's calls by verb, Errors those that were refused as a whole.
	Calls  map[string]int `json:"calls"`
	Errors int            `json:"call_errors"`
	// Provider counts calls of providers by provider, verb and outcome.
	Provider map[string]int `json:"provider_calls"`
	// Gate counts judgements of the gate by act and answer.
	Gate map[string]int `json:"gate"`
	// Lost is how many calls were left out because they came too fast.
	Lost uint64 `json:"lost"`
	// Damaged names the places from which on a file could not be read.
	Damaged []string `json:"damaged"`

	seen map[string]bool
}

// Inspect sums up a recording.
func Inspect(path string) (*Summary, error) {
	s := &Summary{
		Objects: map[string]int{}, Changes: map[string]int{}, Calls: map[string]int{}, Provider: map[string]int{}, Gate: map[string]int{},
		Damaged: []string{}, seen: map[string]bool{},
	}
	damages, err := Read(path, s.header, s.entry)
	if err != nil {
		return nil, err
	}
	for _, d := range damages {
		s.Damaged = append(s.Damaged, d.Error())
	}
	return s, nil
}

func (s *Summary) header(_ string, h Header) error {
	if s.Files == 0 {
		s.From, s.To = h.Started, h.Started
	}
	s.Files++
	s.Version, s.Place, s.Guard, s.Hashed = h.Version, h.Place, h.Guard, h.Hashed
	return nil
}

func (s *Summary) entry(e Entry) error {
	s.Entries++
	s.Lost += e.Lost
	if e.At.After(s.To) {
		s.To = e.At
	}
	switch {
	case e.Object != nil:
		m, err := e.Object.Metadata()
		if err != nil {
			return err
		}
		if id := e.Object.Kind + "/" + string(m.UID); !s.seen[id] {
			s.seen[id] = true
			s.Objects[e.Object.Kind]++
		}
		if !e.Object.There {
			s.Changes[e.Object.Kind]++
		}
	case e.Call != nil:
		s.Calls[e.Call.Verb]++
		if e.Call.Error != "" {
			s.Errors++
		}
	case e.Did != nil:
		s.Provider[e.Did.Provider+" "+e.Did.Verb+" "+e.Did.Outcome]++
	case e.Gate != nil:
		s.Gate[e.Gate.Act+": "+e.Gate.Answer]++
	}
	return nil
}

// WriteText writes a summary for people.
func (s *Summary) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(out, name+"\t"+format+"\n", args...) }
	line("files", "%d, of muster %s", s.Files, s.Version)
	line("time", "%s from %s", s.To.Sub(s.From).Round(time.Second), s.From.UTC().Format(time.RFC3339))
	line("names", "%s", map[bool]string{true: "hashed", false: "as in the cluster"}[s.Hashed])
	for _, kind := range slices.Sorted(maps.Keys(s.Objects)) {
		line(kind, "%d, changed %d times", s.Objects[kind], s.Changes[kind])
	}
	for _, verb := range slices.Sorted(maps.Keys(s.Calls)) {
		line(verb, "%d calls", s.Calls[verb])
	}
	line("refused", "%d calls, with an error", s.Errors)
	for _, call := range slices.Sorted(maps.Keys(s.Provider)) {
		line("provider", "%s: %d", call, s.Provider[call])
	}
	for _, answer := range slices.Sorted(maps.Keys(s.Gate)) {
		line("gate", "%s: %d", answer, s.Gate[answer])
	}
	line("lost", "%d calls came too fast to be written", s.Lost)
	for _, d := range s.Damaged {
		line("damaged", "%s; what came before is sound", d)
	}
	return out.Flush()
}
