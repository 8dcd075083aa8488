package controlplane

import (
	"os/exec"
	"runtime"
	"sync"
)

// The kernel sends a child its parent-death signal when the *thread* that made it ends, not the process. Go may end
// any thread, so every child is made by one thread that lives as long as the test binary.
var launches = sync.OnceValue(func() chan<- launch {
	queue := make(chan launch)
	go func() {
		runtime.LockOSThread()
		for l := range queue {
			l.done <- l.cmd.Start()
		}
	}()
	return queue
})

type launch struct {
	cmd  *exec.Cmd
	done chan error
}

func startOnLauncher(cmd *exec.Cmd) error {
	l := launch{cmd: cmd, done: make(chan error)}
	launches() <- l
	return <-l.done
}
