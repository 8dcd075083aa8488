package replay

import (
	"encoding/json"
	"fmt"
	"io"
)

// Journal keeps what happened in a world, for whoever wants to read it afterwards.
type Journal struct{ Notes []Note }

// Note takes in what happened; it is an Options.Note.
func (r *Journal) Note(n Note) { r.Notes = append(r.Notes, n) }

// WriteEvents writes one JSON object a line, with the time in seconds from the world's zero.
func (r *Journal) WriteEvents(w io.Writer) error {
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
