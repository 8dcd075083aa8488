package wol

import "syscall"

// bindTo has packets leave by this interface and no other, whatever the routes say (socket(7), SO_BINDTODEVICE).
func bindTo(name string) func(network, address string, c syscall.RawConn) error {
	if name == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		if err := c.Control(func(fd uintptr) { failed = syscall.BindToDevice(int(fd), name) }); err != nil {
			return err
		}
		return failed
	}
}
