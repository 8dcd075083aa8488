package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// stopwatch starts to count the processor time of this process. On one core (GOMAXPROCS=1) that is the time on the wall
// of a machine that does nothing else, and other work on the machine does not change it. The collector's part is in it.
func stopwatch() (elapsed func() time.Duration) {
	start := processorTime()
	return func() time.Duration { return processorTime() - start }
}

func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // every Linux has this clock
	}
	return time.Duration(t.Nano())
}
