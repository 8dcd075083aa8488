//go:build !linux

package wol

import "syscall"

// bindTo leaves the way to the address that packets are sent from.
func bindTo(string) func(network, address string, c syscall.RawConn) error { return nil }
