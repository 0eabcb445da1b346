package reactortest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var connecting = []behavior{
	onNetworks("connects", testConnect),
	{"connects to an abstract name", testConnectAbstract},
	{"a refused connect is one error", testConnectRefused},
	{"a socket file that nobody listens at refuses", testConnectNobody},
	{"connects many at once", testConnectMany},
	{"a connect that hangs can be canceled", testConnectCancel},
	{"data that comes with the connection is received", testConnectGreeting},
}

func testConnect(t *testing.T, b Backend, network string) { connectTo(t, b, listen(t, network)) }

func connectTo(t *testing.T, b Backend, ln net.Listener) {
	l := newLoop(t, b, small)
	network := ln.Addr().Network()
	if a, ok := ln.Addr().(*net.TCPAddr); ok && a.IP.To4() == nil {
		network = "tcp6"
	}
	e := l.add(newSocket(t, network))
	e.connect(ln.Addr())
	l.until("connected", func() bool { return !e.flying[reactor.Connect] })
	require.Zero(t, e.errno(reactor.Connect))
	peer := accept(t, ln)
	e.recv()
	write(t, peer, "ping")
	l.until("data", func() bool { return string(e.data) == "ping" })
	e.send([]byte("pong"))
	l.until("sent", func() bool { return e.sent == 4 })
	read(t, peer, "pong")
	l.settle()
	require.Len(t, e.ends[reactor.Connect], 1)
}

func testConnectAbstract(t *testing.T, b Backend) {
	if runtime.GOOS != "linux" {
		t.Skip("abstract names are Linux's")
	}
	ln, err := net.Listen("unix", fmt.Sprintf("@suiro-reactortest-%d", os.Getpid()))
	if err != nil {
		t.Skipf("no abstract names here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, ln.Close()) })
	connectTo(t, b, ln)
}

func testConnectRefused(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	nobody := nobodyAddress(t)
	for range 10 {
		e := l.add(newSocket(t, "tcp"))
		e.connect(nobody)
		l.until("refused", func() bool { return !e.flying[reactor.Connect] })
		l.settle()
		require.Equal(t, syscall.ECONNREFUSED, e.errno(reactor.Connect))
		require.Len(t, e.ends[reactor.Connect], 1)
		e.close()
	}
}

func testConnectNobody(t *testing.T, b Backend) {
	requireNetwork(t, "unix")
	l := newLoop(t, b, small)
	ln := listen(t, "unix").(*net.UnixListener)
	ln.SetUnlinkOnClose(false)
	require.NoError(t, ln.Close())
	for name, want := range map[string]syscall.Errno{
		ln.Addr().String():                    syscall.ECONNREFUSED,
		filepath.Join(t.TempDir(), "no-such"): syscall.ENOENT,
	} {
		e := l.add(newSocket(t, "unix"))
		e.connect(&net.UnixAddr{Name: name, Net: "unix"})
		l.until("refused", func() bool { return !e.flying[reactor.Connect] })
		require.Equal(t, want, e.errno(reactor.Connect))
		l.settle()
	}
}

func testConnectMany(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 8, Buffers: 4, BufferSize: 4096})
	ln := listen(t, "tcp")
	accepted := inBackground(func() error {
		for range crowd {
			c, err := ln.Accept()
			if err != nil {
				return err
			}
			if err = c.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	ends := make([]*endpoint, crowd)
	for i := range ends {
		ends[i] = l.add(newSocket(t, "tcp"))
		ends[i].connect(ln.Addr())
	}
	l.until("all connected", func() bool { return !flying(ends, reactor.Connect) })
	for _, e := range ends {
		require.Zero(t, e.errno(reactor.Connect))
	}
	require.NoError(t, <-accepted)
}

func testConnectCancel(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	unanswering := unansweringAddress(t)
	for i := range 5 {
		e := l.add(newSocket(t, "tcp"))
		e.connect(unanswering)
		if i > 0 { // else both are submitted in one batch
			l.settle()
			require.True(t, e.flying[reactor.Connect])
		}
		e.stop(reactor.Connect)
		require.Equal(t, syscall.ECANCELED, e.errno(reactor.Connect))
		l.settle()
		require.Len(t, e.ends[reactor.Connect], 1)
		e.close()
	}
	l.settle()
}

func testConnectGreeting(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	ln := listen(t, "tcp")
	for range 20 {
		e := l.add(newSocket(t, "tcp"))
		e.connect(ln.Addr())
		l.settle() // submitted, and very likely connected
		c := l.accept(ln)
		write(t, c, "220 ready")
		finish(t, c)
		l.until("connected", func() bool { return !e.flying[reactor.Connect] })
		require.Zero(t, e.errno(reactor.Connect))
		e.recv()
		l.until("the greeting and the end", e.eof)
		require.Equal(t, "220 ready", string(e.data))
	}
}

// flying reports whether any of them has such an operation in flight.
func flying(ends []*endpoint, k reactor.Kind) bool {
	for _, e := range ends {
		if e.flying[k] {
			return true
		}
	}
	return false
}
