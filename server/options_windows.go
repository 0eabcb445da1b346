package server

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/conn"
)

// No port is shared here: SO_REUSEADDR would let any program take it over, and is left
// alone, as package net leaves it.
const haveReusePort = false

// tcpFastOpen is of ws2ipdef.h.
const tcpFastOpen = 15

// setOptions is called before the socket is bound.
func (s *Server) setOptions(network string, fd int) error {
	h := windows.Handle(fd)
	if network == "unix" && s.UnixMode != 0 {
		return fmt.Errorf("UnixMode on Windows, where a path has no mode; secure its folder: %w", errors.ErrUnsupported)
	}
	if err := setBuffers(h, s.ReadBuffer, s.WriteBuffer); err != nil || !strings.HasPrefix(network, "tcp") {
		return err
	}
	if s.FastOpen > 0 {
		if err := windows.SetsockoptInt(h, windows.IPPROTO_TCP, tcpFastOpen, 1); err != nil {
			return fmt.Errorf("FastOpen takes Windows 10 1607 or later: %w: %w", callError("setsockopt", err), errors.ErrUnsupported)
		}
	}
	return probePeer(h, s.KeepAlive)
}

// listening is for systems that take some options only of a socket that listens.
func (s *Server) listening(net.Listener) error { return nil }

func setBuffers(h windows.Handle, read, write int) error {
	for _, o := range []struct{ name, value int }{{windows.SO_RCVBUF, read}, {windows.SO_SNDBUF, write}} {
		if o.value <= 0 {
			continue
		}
		if err := windows.SetsockoptInt(h, windows.SOL_SOCKET, o.name, o.value); err != nil {
			return callError("setsockopt", err)
		}
	}
	return nil
}

// probePeer turns keep-alive probes on, every so often; 0: 15 s; negative: not.
func probePeer(h windows.Handle, every time.Duration) error {
	if every < 0 {
		return nil
	}
	ms := uint32(max(time.Second, cmp.Or(every, 15*time.Second).Truncate(time.Second)).Milliseconds())
	vals := windows.TCPKeepalive{OnOff: 1, Time: ms, Interval: ms}
	var got uint32
	return callError("wsaioctl", windows.WSAIoctl(h, windows.SIO_KEEPALIVE_VALS, (*byte)(unsafe.Pointer(&vals)),
		uint32(unsafe.Sizeof(vals)), nil, 0, &got, nil, 0))
}

func callError(call string, err error) error {
	return conn.Portable(os.NewSyscallError(call, err))
}

func closeOnExec(*os.File) {} // handles are, unless one asks for something else
