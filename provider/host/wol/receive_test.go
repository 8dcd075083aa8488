package wol_test

import "syscall"

// receive takes one datagram if there is one, and does not wait for it.
func receive(fd uintptr, buffer []byte) int {
	n, _, err := syscall.Recvfrom(int(fd), buffer, syscall.MSG_DONTWAIT)
	if err != nil {
		return 0
	}
	return n
}
