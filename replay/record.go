package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Record keeps what happened in a world, for whoever wants to read or draw it afterwards.
type Record struct {
	Notes []Note

	samples []sample
	lanes   map[string]*lane
	order   []*lane
	last    time.Time
}

// sample is the demand and the room at one moment.
type sample struct {
	at                      time.Time
	waiting, running, nodes int
}

// lane is one machine over time.
type lane struct {
	claim string
	spans []stretch
}

// stretch is the time a claim spent in a state; to is zero while it is in it.
type stretch struct {
	state    string
	from, to time.Time
}

// NewRecord makes an empty record.
func NewRecord() *Record { return &Record{lanes: map[string]*lane{}} }

// Note takes in what happened; it is an Options.Note.
func (r *Record) Note(n Note) {
	r.Notes = append(r.Notes, n)
	r.last = n.At
	if n.Kind != "NodeClaim" {
		return
	}
	switch state := v1alpha1.ClaimState(n.Reason); state {
	case v1alpha1.ClaimLaunching, v1alpha1.ClaimJoining, v1alpha1.ClaimStarting, v1alpha1.ClaimReady,
		v1alpha1.ClaimDraining, v1alpha1.ClaimReleasing, v1alpha1.ClaimFailed, NoteGone:
		r.enter(n.Name, n.Reason, n.At)
	}
}

// enter starts a new stretch of a claim, and ends the one before. A slot that is used again gets a lane of its own.
func (r *Record) enter(claim, state string, at time.Time) {
	l := r.lanes[claim]
	if l == nil {
		l = &lane{claim: claim}
		r.lanes[claim] = l
		r.order = append(r.order, l)
	}
	if n := len(l.spans); n > 0 {
		l.spans[n-1].to = at
	}
	if state == NoteGone {
		delete(r.lanes, claim)
		return
	}
	l.spans = append(l.spans, stretch{state: state, from: at})
}

// Sample takes in where the world stands, when that is news.
func (r *Record) Sample(s Status) {
	next := sample{at: Zero.Add(s.At), waiting: s.Waiting, running: s.Running, nodes: s.Nodes}
	r.last = next.at
	if n := len(r.samples); n > 0 {
		old := r.samples[n-1]
		if old.waiting == next.waiting && old.running == next.running && old.nodes == next.nodes {
			return
		}
	}
	r.samples = append(r.samples, next)
}

// machines are the lanes in the order in which they began.
func (r *Record) machines() []*lane {
	return slices.SortedStableFunc(slices.Values(r.order), func(a, b *lane) int {
		return cmp.Compare(a.spans[0].from.UnixNano(), b.spans[0].from.UnixNano())
	})
}

// WriteEvents writes one JSON object a line, with the time in seconds from the world's zero.
func (r *Record) WriteEvents(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, n := range r.Notes {
		line := struct {
			At float64 `json:"t_s"`
			Note
		}{round(n.At.Sub(Zero).Seconds()), n}
		if err := enc.Encode(line); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	return nil
}
