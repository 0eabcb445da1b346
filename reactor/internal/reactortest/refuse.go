package reactortest

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var refusing = []behavior{
	{"a refused operation has no completion", testRefused},
	{"an operation on no descriptor fails once", testBadDescriptor},
}

func testRefused(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e := l.add(newSocket(t, local))
	for _, c := range []struct {
		op   reactor.Op
		want syscall.Errno
	}{
		{reactor.Op{}, syscall.EINVAL},
		{reactor.Op{Kind: 200}, syscall.EINVAL},
		{reactor.Op{Kind: reactor.Connect}, syscall.EAFNOSUPPORT},
		{reactor.Op{Kind: reactor.Connect, Addr: &net.UDPAddr{IP: net.IPv6loopback}}, syscall.EAFNOSUPPORT},
		{reactor.Op{Kind: reactor.Connect, Addr: &net.TCPAddr{IP: net.IP{1, 2, 3}}}, syscall.EINVAL},
		{reactor.Op{Kind: reactor.Connect, Addr: &net.UnixAddr{}}, syscall.EINVAL},
		{reactor.Op{Kind: reactor.Connect, Addr: &net.UnixAddr{Name: strings.Repeat("x", 1000)}}, syscall.EINVAL},
	} {
		c.op.FD, c.op.Token = e.fd, e.token
		err := l.r.Submit(&c.op)
		require.ErrorIs(t, err, c.want, "%v %v", c.op.Kind, c.op.Addr)
		require.ErrorContains(t, err, "reactor: ")
	}
	l.settle()
	ln := listen(t, local) // and leaks nothing
	e.connect(ln.Addr())
	l.until("connected", func() bool { return !e.flying[reactor.Connect] })
	require.Zero(t, e.errno(reactor.Connect))
}

// Either Submit returns the error, or a completion does; not both.
func testBadDescriptor(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	gone := newSocket(t, "tcp")
	closeSocket(gone)
	for _, fd := range []int{gone, -1, 1 << 30} {
		for _, k := range []reactor.Kind{reactor.Accept, reactor.Recv, reactor.Send, reactor.Connect} {
			e := l.add(fd)
			e.unsent = []byte("x")
			e.to = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
			e.flying[k] = true
			op := reactor.Op{Kind: k, FD: fd, Token: e.token, Buf: e.unsent, Addr: e.to}
			err := l.r.Submit(&op)
			if err != nil {
				require.ErrorIs(t, err, syscall.EBADF, "%v on %d", k, fd)
				e.flying[k] = false
			} else {
				l.until("a failure", func() bool { return !e.flying[k] })
				require.Equal(t, syscall.EBADF, e.errno(k), "%v on %d", k, fd)
			}
			e.fd = -1
		}
		l.submit(reactor.Op{Kind: reactor.Cancel, Target: reactor.Recv, FD: fd})
		l.submit(reactor.Op{Kind: reactor.Close, FD: fd})
	}
	l.settle()
	l.idle()
}
