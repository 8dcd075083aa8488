package controlplane

import (
	"fmt"
	"net"
	"sync"
)

var (
	portsMu   sync.Mutex
	portsUsed = map[int]bool{}
)

// FreePort finds a loopback port that nobody listens on and that no earlier call returned. A server that was stopped
// may keep its port for 15 s, so ports are never used twice.
func FreePort() (int, error) {
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if !portsUsed[port] {
			portsUsed[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: the kernel offers the same ports again and again")
}

func freePorts(ports ...*int) (err error) {
	for _, p := range ports {
		if *p, err = FreePort(); err != nil {
			return err
		}
	}
	return nil
}
