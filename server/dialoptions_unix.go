//go:build unix

package server

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/sock"
)

// control sets the options of a socket before it is bound or connected.
func (d *Dialer) control(fastOpen bool) func(network, addr string, raw syscall.RawConn) error {
	dialer := *d
	return func(network, addr string, raw syscall.RawConn) error {
		var err error
		if cerr := raw.Control(func(fd uintptr) { err = dialer.setOptions(network, int(fd), fastOpen) }); cerr != nil {
			return cerr
		}
		if err == nil && dialer.Control != nil {
			err = dialer.Control(network, addr, raw)
		}
		return err
	}
}

func (d *Dialer) setOptions(network string, fd int, fastOpen bool) error {
	if err := setBuffers(fd, d.ReadBuffer, d.WriteBuffer); err != nil || !strings.HasPrefix(network, "tcp") {
		return err
	}
	if d.Nagle {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 0); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if fastOpen {
		sock.ConnectFastOpen(fd)
	}
	return keepAlive(fd, d.KeepAlive)
}
