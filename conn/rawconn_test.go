package conn_test

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

var (
	_ syscall.Conn = (*conn.Socket)(nil)
)

// rawOf is the RawConn of a connection.
func rawOf(t *testing.T, c any) syscall.RawConn {
	t.Helper()
	sc, ok := c.(syscall.Conn)
	require.True(t, ok, "a %T has no SyscallConn", c)
	raw, err := sc.SyscallConn()
	require.NoError(t, err)
	return raw
}

// The options of a connection that golang.org/x/net sets.
func TestOptionsAreSetAsOnNets(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		a, b := pair("tcp")
		for _, c := range []net.Conn{a, b} {
			p := ipv4.NewConn(c)
			require.NoError(t, p.SetTTL(17))
			ttl, err := p.TTL()
			require.NoError(t, err)
			require.Equal(t, 17, ttl)
		}
		write(t, a, "hello")
		require.Equal(t, "hello", string(read(t, b, 5)))
	})
}

func TestRawCallsAreSafeBesideCloses(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		for range 20 {
			a, b := pair("tcp")
			raw := rawOf(t, a)
			done := make(chan error, 3)
			begun := make(chan struct{}, 3)
			use := func(call func() error) {
				var err error
				for i := 0; err == nil; i++ {
					if err = call(); i == 0 {
						begun <- struct{}{}
					}
				}
				done <- err
			}
			go use(func() error { return raw.Control(func(uintptr) {}) })
			go use(func() error { return raw.Read(func(uintptr) bool { return true }) })
			go use(func() error { return raw.Write(func(uintptr) bool { return true }) })
			for range 3 {
				conntest.Receive(t, begun)
			}
			require.NoError(t, a.Close())
			require.NoError(t, b.Close())
			for range 3 {
				require.ErrorIs(t, conntest.Receive(t, done), net.ErrClosed)
			}
		}
	})
}

// stuff writes until neither the kernel nor the queue has room, and returns the taken bytes. The
// peer reads nothing. A write that is refused shows little, since the workers may not have run
// meanwhile: so they do, and then another one is refused as well. Each waits for longer than a
// kernel delays an acknowledgment.
func stuff(t *testing.T, f *fixture, c net.Conn) (taken []byte) {
	t.Helper()
	for refused := 0; refused < 2; {
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(250*time.Millisecond)))
		n, _ := c.Write(noise)
		taken = append(taken, noise[:n]...)
		if refused++; n > 0 {
			refused = 0
		}
		f.rounds(2)
	}
	require.NoError(t, c.SetWriteDeadline(time.Time{}))
	return taken
}

// A raw write does not overtake bytes written before it.
func TestRawWritesKeepTheOrder(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
		require.NoError(t, err)
		defer stop()
		before := stuff(t, f, a)
		raw := make(chan error, 2)
		go func() {
			raw <- rawOf(t, a).Write(func(fd uintptr) bool {
				_, err := sendRaw(fd, []byte("raw"))
				raw <- err
				return true
			})
		}()
		conntest.Eventually(t, a.(*conn.Socket).WaitsForRoom)
		require.Empty(t, raw)
		require.Equal(t, before, read(t, b, len(before)))
		require.Equal(t, "raw", string(read(t, b, 3)))
		require.NoError(t, conntest.Receive(t, raw))
		require.NoError(t, conntest.Receive(t, raw))
		write(t, a, "after")
		require.Equal(t, "after", string(read(t, b, 5)))
	})
}

// A raw write waits also where no write has waited: the bytes before it are all queued.
func TestARawWriteFollowsQueuedBytes(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
		require.NoError(t, err)
		defer stop()
		unsent := func() (n int) {
			for i := range f.Connections() {
				n += i.Unsent
			}
			return n
		}
		var before []byte
		for unsent() == 0 { // until the kernel has no room
			write(t, a, string(noise[:1000]))
			before = append(before, noise[:1000]...)
		}
		raw := make(chan error, 1)
		go func() {
			raw <- rawOf(t, a).Write(func(fd uintptr) bool {
				_, err := sendRaw(fd, []byte("raw"))
				return err == nil
			})
		}()
		require.Equal(t, before, read(t, b, len(before)))
		require.Equal(t, "raw", string(read(t, b, 3)))
		require.NoError(t, conntest.Receive(t, raw))
	})
}

// A raw write that has to wait for earlier bytes ends with the deadline.
func TestRawWritesHaveDeadlines(t *testing.T) {
	onSocketGroups(t, []int{1}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, _, stop, err := pair(t, l, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
		require.NoError(t, err)
		defer stop()
		stuff(t, f, a)
		ended := make(chan error, 1)
		go func() {
			ended <- rawOf(t, a).Write(func(uintptr) bool { t.Error("the queue is not empty"); return true })
		}()
		require.NoError(t, a.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		requireOpError(t, conntest.Receive(t, ended), "raw-write", os.ErrDeadlineExceeded)
	}, func(cfg *conn.Config) { cfg.LingerTimeout = 50 * time.Millisecond })
}
