package dial_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider/dial"
)

func TestWhatToLookAtWhenAServerIsNotReached(t *testing.T) {
	call := func(errno syscall.Errno) error {
		return fmt.Errorf("get: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)})
	}
	for says, err := range map[string]error{
		"the name in spec.endpoint is not known":          &net.DNSError{Err: "no such host", Name: "pve1", IsNotFound: true},
		"no DNS server answered for the name":             &net.DNSError{Err: "i/o timeout", Name: "pve1", IsTimeout: true},
		"nothing listens there: compare spec.endpoint":    call(syscall.ECONNREFUSED),
		"no route leads there":                            call(syscall.EHOSTUNREACH),
		"no answer in time: a firewall may stand between": &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
	} {
		require.Contains(t, dial.ReachHint(err, "spec.endpoint"), says)
	}
	require.Empty(t, dial.ReachHint(errors.New("answer 403"), "spec.endpoint"))
}
