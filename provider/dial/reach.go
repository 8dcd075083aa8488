package dial

import (
	"errors"
	"net"
	"syscall"
)

// ReachHint says what an operator can look at when a server was not reached; empty where the error is of another kind. The address
// is the field of the object that names the server.
func ReachHint(err error, address string) string {
	var unknown *net.DNSError
	var late net.Error
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "the name in " + address + " is not known where this runs: correct it, or give an IP address; a pod asks the cluster's DNS"
	case errors.As(err, &unknown):
		return "no DNS server answered for the name in " + address + ": see the DNS where this runs, or give an IP address"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: compare " + address + " and its port, and see whether the service runs"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route leads there from where this runs: see " + address
	case errors.As(err, &late) && late.Timeout():
		return "no answer in time: a firewall may stand between this and " + address + ", or the host hangs"
	}
	return ""
}
