package server

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/conn"
)

// control sets the options of a socket before it is bound or connected. It ignores FastOpen: on
// Windows TCP Fast Open needs the first bytes together with the call that connects.
func (d *Dialer) control(bool) func(network, addr string, raw syscall.RawConn) error {
	dialer := *d
	return func(network, addr string, raw syscall.RawConn) error {
		var err error
		if cerr := raw.Control(func(fd uintptr) { err = dialer.setOptions(network, int(fd)) }); cerr != nil {
			return cerr
		}
		if err == nil && dialer.Control != nil {
			err = dialer.Control(network, addr, raw)
		}
		return err
	}
}

func (d *Dialer) setOptions(network string, fd int) error {
	if err := setBuffers(fd, d.ReadBuffer, d.WriteBuffer); err != nil || !strings.HasPrefix(network, "tcp") {
		return err
	}
	if d.Nagle {
		if err := windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_TCP, windows.TCP_NODELAY, 0); err != nil {
			return conn.Portable(os.NewSyscallError("setsockopt", err))
		}
	}
	return keepAlive(fd, d.KeepAlive)
}
