package main

import "runtime/debug"

// Memory for speed, as long as there is little of it: a filter call leaves some ten KiB behind, and with the default
// the collector would run many times a second on the few MiB that Muster holds of a small cluster. Near the limit it runs
// as often as it must. GOGC and GOMEMLIMIT take precedence.
const (
	gcPercent   = 400
	memoryLimit = 350 << 20 // bytes; 5,000 nodes and 50,000 pods need 70 MiB of live heap
)

func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
