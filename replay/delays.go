package replay

import "time"

// Delays are how long things take that nobody decides about.
type Delays struct {
	// Watch and SchedulerWatch are how long after a write Muster and the scheduler see it.
	Watch, SchedulerWatch time.Duration
	// Cycle is how long the scheduler is busy with one pod.
	Cycle time.Duration
	// Bind is the time from the scheduler's choice to the binding, Write that of its other writes.
	Bind, Write time.Duration
	// NodeReady is the time from a Node's registration to Ready, Drivers from Ready to the startup taints being taken off.
	NodeReady, Drivers time.Duration
	// PodStart is the time from the binding to a running pod, PodStop how long one takes to stop.
	PodStart, PodStop time.Duration
	// Tidy is how long a finished pod is kept.
	Tidy time.Duration
}

// DefaultDelays are those of a quiet cluster on good hardware.
func DefaultDelays() Delays {
	return Delays{
		Watch: 10 * time.Millisecond, SchedulerWatch: 10 * time.Millisecond, Cycle: 4 * time.Millisecond,
		Bind: 10 * time.Millisecond, Write: 10 * time.Millisecond, NodeReady: 3 * time.Second, Drivers: 2 * time.Second,
		PodStart: time.Second, PodStop: time.Second, Tidy: 30 * time.Second,
	}
}
