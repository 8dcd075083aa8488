package reaper

import "github.com/muster-sh/muster/capacity"

// Reopenings are the releases to be taken back now: what Decide says of them, for whoever is about to buy machines.
func Reopenings(v *capacity.View) []Reopening { return reopenings(v) }
