package server

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/sock"
)

const haveReusePort = sock.HaveReusePort

// setOptions is called before the socket is bound.
func (s *Server) setOptions(network string, fd int) error {
	if network == "unix" && s.UnixMode != 0 {
		return fmt.Errorf("UnixMode on Windows, where a path has no mode; secure its folder: %w", errors.ErrUnsupported)
	}
	if err := setBuffers(fd, s.ReadBuffer, s.WriteBuffer); err != nil || !strings.HasPrefix(network, "tcp") {
		return err
	}
	if s.FastOpen > 0 {
		if err := sock.ListenFastOpen(fd, s.FastOpen); err != nil {
			return conn.Portable(err)
		}
	}
	return keepAlive(fd, s.KeepAlive)
}

// listening is for systems where only a listening socket takes some options.
func (s *Server) listening(net.Listener) error { return nil }

func setBuffers(fd, read, write int) error {
	for _, o := range []struct{ name, value int }{{windows.SO_RCVBUF, read}, {windows.SO_SNDBUF, write}} {
		if o.value <= 0 {
			continue
		}
		if err := windows.SetsockoptInt(windows.Handle(fd), windows.SOL_SOCKET, o.name, o.value); err != nil {
			return conn.Portable(os.NewSyscallError("setsockopt", err))
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
	return conn.Portable(sock.KeepAlive(fd, net.KeepAliveConfig{Enable: true, Idle: every, Interval: every}))
}

func closeOnExec(*os.File) {} // handles are not inherited by default
