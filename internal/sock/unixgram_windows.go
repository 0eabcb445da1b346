package sock

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

var errNoUnixgram = fmt.Errorf("Windows has no Unix datagrams: %w", errors.ErrUnsupported)

// OfUnixConn is not for Windows.
func OfUnixConn(*net.UnixConn) (int, error) { return -1, errNoUnixgram }

// DialUnixgram is not for Windows.
func DialUnixgram(_, _ string) (int, error) { return -1, errNoUnixgram }

// ConnectUnix is not for Windows.
func ConnectUnix(int, string) syscall.Errno { return syscall.EOPNOTSUPP }

// InspectUnix is not for Windows.
func InspectUnix(int) (local, peer string, connected bool) { return "", "", false }
