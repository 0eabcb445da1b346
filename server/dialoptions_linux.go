package server

import (
	"cmp"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	type option struct{ level, name, value int }
	var options []option
	if d.ReadBuffer > 0 {
		options = append(options, option{unix.SOL_SOCKET, unix.SO_RCVBUF, d.ReadBuffer})
	}
	if d.WriteBuffer > 0 {
		options = append(options, option{unix.SOL_SOCKET, unix.SO_SNDBUF, d.WriteBuffer})
	}
	if strings.HasPrefix(network, "tcp") {
		if d.Nagle {
			options = append(options, option{unix.IPPROTO_TCP, unix.TCP_NODELAY, 0})
		}
		if d.KeepAlive >= 0 {
			seconds := max(1, int(cmp.Or(d.KeepAlive, 15*time.Second)/time.Second))
			options = append(options, option{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
				option{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds},
				option{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds})
		}
		if fastOpen {
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1) // an old kernel goes without
		}
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}
