package server

import (
	"cmp"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// haveReusePort: sockets that share a port have connections spread over them.
const haveReusePort = true

// setOptions is called before the socket is bound.
func (s *Server) setOptions(network string, fd int) error {
	type option struct{ level, name, value int }
	var options []option
	if s.ReadBuffer > 0 {
		options = append(options, option{unix.SOL_SOCKET, unix.SO_RCVBUF, s.ReadBuffer})
	}
	if s.WriteBuffer > 0 {
		options = append(options, option{unix.SOL_SOCKET, unix.SO_SNDBUF, s.WriteBuffer})
	}
	switch {
	case network == "unix":
		if s.UnixMode != 0 { // so that nobody gets in before the path has its mode
			if err := unix.Fchmod(fd, uint32(s.UnixMode.Perm())); err != nil {
				return os.NewSyscallError("fchmod", err)
			}
		}
	case s.ReusePort:
		options = append(options, option{unix.SOL_SOCKET, unix.SO_REUSEPORT, 1})
	}
	if strings.HasPrefix(network, "tcp") {
		if s.FastOpen > 0 {
			options = append(options, option{unix.IPPROTO_TCP, unix.TCP_FASTOPEN, s.FastOpen})
		}
		if k := s.KeepAlive; k >= 0 {
			seconds := int(cmp.Or(k, 15*time.Second) / time.Second)
			options = append(options, option{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
				option{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, max(1, seconds)},
				option{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(1, seconds)})
		}
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

func closeOnExec(f *os.File) { unix.CloseOnExec(int(f.Fd())) }
