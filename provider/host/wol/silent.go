package wol

import (
	"errors"
	"net"
	"syscall"
)

// silent says that nothing at all came back, or that a router says that nobody is there.
func silent(err error) bool {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EHOSTDOWN)
}
