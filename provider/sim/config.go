// Package sim is a provider without hardware. A Cloud holds machines in memory, with a boot time and failures drawn from
// a seed; it has no goroutine and no clock, so a replay can drive it in virtual time. Around it are an in-process
// Provider, an HTTP server and client that speak the same verbs, and a Joiner that makes the Node objects which
// kwok (or a replay) keeps alive. It runs no pods and keeps nothing over a restart of its process.
package sim

import (
	"fmt"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Config says how long machines take and what goes wrong.
type Config struct {
	// Seed makes a run repeatable: what happens to a machine depends on the seed, the claim's UID and the attempt, and
	// on nothing else.
	Seed int64
	// BootMin, BootMedian and BootMax bound the time from the creation to the Node.
	BootMin, BootMedian, BootMax time.Duration
	// Apart is how long after one machine the next one registers its Node, at the earliest. Of machines that are due within
	// that time of each other, the one with the first name comes first: two runs that buy the same machines at about the same
	// time have them come in the same order. 0 has each come in its own time.
	Apart time.Duration
	// FailCreate is how many percent of the creations are refused, Lose how many work although their answer is an error,
	// NeverJoin how many machines never register a Node.
	FailCreate, Lose, NeverJoin int32
	// MaxMachines is how many machines there is room for; 0 is no bound.
	MaxMachines int32
	// DeleteTime is how long a deletion takes.
	DeleteTime time.Duration
}

// DefaultConfig has the defaults of the Provider type, and no failures.
func DefaultConfig() Config {
	return Config{BootMin: 20 * time.Second, BootMedian: 45 * time.Second, BootMax: 2 * time.Minute, DeleteTime: 2 * time.Second}
}

// ConfigOf takes over what a Provider of type sim says; nil means the defaults.
func ConfigOf(s *v1alpha1.Sim) Config {
	c := DefaultConfig()
	if s == nil {
		return c
	}
	c.Seed, c.MaxMachines = s.Seed, s.MaxMachines
	c.FailCreate, c.Lose, c.NeverJoin = s.Failures.Create, s.Failures.Lost, s.Failures.NeverJoin
	if s.Boot.Min != nil {
		c.BootMin = s.Boot.Min.Duration
	}
	if s.Boot.Median != nil {
		c.BootMedian = s.Boot.Median.Duration
	}
	if s.Boot.Max != nil {
		c.BootMax = s.Boot.Max.Duration
	}
	return c
}

// Validate names the first field that makes no sense.
func (c Config) Validate() error {
	if c.BootMin < 0 || c.BootMin > c.BootMedian || c.BootMedian > c.BootMax {
		return fmt.Errorf("boot time: min %s, median %s and max %s must not be negative and must be in this order",
			c.BootMin, c.BootMedian, c.BootMax)
	}
	for _, p := range []struct {
		name  string
		value int32
	}{{"fail-create", c.FailCreate}, {"lose", c.Lose}, {"never-join", c.NeverJoin}} {
		if p.value < 0 || p.value > 100 {
			return fmt.Errorf("%s: %d is no percentage, use 0 to 100", p.name, p.value)
		}
	}
	if c.Apart < 0 {
		return fmt.Errorf("apart: %s is negative, use 0 for machines that come in their own time", c.Apart)
	}
	if c.MaxMachines < 0 {
		return fmt.Errorf("max-machines: %d is negative, use 0 for no bound", c.MaxMachines)
	}
	if c.DeleteTime < 0 {
		return fmt.Errorf("delete time: %s is negative", c.DeleteTime)
	}
	return nil
}
