package main

import (
	"fmt"
	"io"
	"time"
)

// patience is how long a command is silent about what it waits for.
const patience = 3 * time.Second

// waitingFor says on w what is waited for, as long as it takes; who gets an answer at once reads nothing. The caller ends it.
func waitingFor(w io.Writer, what string) (end func()) {
	stop, done, began := make(chan struct{}), make(chan struct{}), time.Now()
	go func() {
		defer close(done)
		again := time.NewTicker(patience)
		defer again.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-again.C:
				fmt.Fprintf(w, "waiting for %s (%s so far)\n", what, now.Sub(began).Round(time.Second))
				again.Reset(10 * time.Second)
			}
		}
	}()
	return func() { close(stop); <-done }
}
