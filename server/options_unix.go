//go:build unix

package server

import (
	"cmp"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/sock"
)

// haveReusePort says whether the kernel spreads connections over sockets that share a port.
const haveReusePort = sock.HaveReusePort

// setOptions is called before the socket is bound.
func (s *Server) setOptions(network string, fd int) error {
	if err := setBuffers(fd, s.ReadBuffer, s.WriteBuffer); err != nil {
		return err
	}
	switch {
	case network == "unix":
		if s.UnixMode != 0 {
			if err := sock.Mode(fd, uint32(s.UnixMode.Perm())); err != nil {
				return err
			}
		}
	case s.ReusePort && haveReusePort:
		if err := sock.ReusePort(fd); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	if s.FastOpen > 0 && !sock.FastOpenLate {
		if err := sock.ListenFastOpen(fd, s.FastOpen); err != nil {
			return err
		}
	}
	if s.DeferAccept > 0 {
		if err := sock.DeferAccept(fd, s.DeferAccept); err != nil {
			return err
		}
	}
	return keepAlive(fd, s.KeepAlive)
}

// listening sets the options that only a listening socket takes.
func (s *Server) listening(ln net.Listener) error {
	tcp, ok := ln.(*net.TCPListener)
	if !ok || s.FastOpen <= 0 || !sock.FastOpenLate {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(fd uintptr) { err = sock.ListenFastOpen(int(fd), s.FastOpen) }); cerr != nil {
		return cerr
	}
	return err
}

func setBuffers(fd, read, write int) error {
	for _, o := range []struct{ name, value int }{{unix.SO_RCVBUF, read}, {unix.SO_SNDBUF, write}} {
		if o.value <= 0 {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, o.name, o.value); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// keepAlive enables keep-alive probes at this interval. 0: 15 s. Negative: off.
func keepAlive(fd int, every time.Duration) error {
	if every < 0 {
		return nil
	}
	every = max(time.Second, cmp.Or(every, 15*time.Second))
	return os.NewSyscallError("setsockopt", sock.KeepAlive(fd, net.KeepAliveConfig{Enable: true, Idle: every, Interval: every}))
}

func closeOnExec(f *os.File) { unix.CloseOnExec(int(f.Fd())) }
