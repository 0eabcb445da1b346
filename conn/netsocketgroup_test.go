package conn_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Bytes that nobody reads stay with the peer. Bytes that a peer does not read stay with the writer.
func TestSocketsBufferLittle(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), f.addr) })
		require.NoError(t, err)
		defer stop()
		s, r := a.(*conn.Socket), b.(*conn.Socket)
		big := bytes.Repeat(noise, 64)
		wrote := make(chan error, 1)
		go func() {
			_, err := s.Write(big)
			wrote <- err
		}()
		unsent := func() (n int) {
			for i := range f.Connections() {
				n = max(n, i.Unsent)
			}
			return n
		}
		const high, piece = 256 << 10, 64 << 10
		full := func() bool { // a kernel may take a part of the flight, and report it only when it takes more
			n := unsent()
			return n > 0 && n <= piece && s.WaitsForRoom()
		}
		conntest.Eventually(t, func() bool { return r.Paused() && full() }, f.report)
		require.LessOrEqual(t, r.Buffered(), high+piece)
		select {
		case err := <-wrote:
			t.Fatal("it was written to nobody: ", err)
		default:
		}
		got := make([]byte, len(big))
		_, err = io.ReadFull(r, got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(big, got))
		require.NoError(t, conntest.Receive(t, wrote))
		require.Zero(t, r.Buffered())
		require.Zero(t, r.Blocks(), "an idle one holds no buffer")
		conntest.Eventually(t, func() bool { return unsent() == 0 })
	})
}

func TestIdleSocketsHaveNoGoroutine(t *testing.T) {
	onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		dial := func() (net.Conn, error) { return f.DialSocketContext(t.Context(), f.addr) }
		_, _, stop, err := pair(t, l, dial) // the group's own
		require.NoError(t, err)
		defer stop()
		before := runtime.NumGoroutine()
		const pairs = 100
		for range pairs {
			a, b, stop, err := pair(t, l, dial)
			require.NoError(t, err)
			defer stop()
			require.NoError(t, a.SetDeadline(time.Now().Add(time.Hour)))
			write(t, a, "hello")
			require.Equal(t, "hello", string(read(t, b, 5)))
		}
		conntest.Eventually(t, func() bool { return runtime.NumGoroutine() < before+pairs/2 })
	})
}

func TestSocketsEndWithTheGroup(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		var ends []chan error
		var stops []func()
		for range 2 {
			a, b, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), f.addr) })
			require.NoError(t, err)
			stops = append(stops, stop)
			for _, c := range []net.Conn{a, b} {
				end := make(chan error, 1)
				go func() { _, err := c.Read(make([]byte, 1)); end <- err }()
				ends = append(ends, end)
			}
		}
		f.Drain() // is none of their business
		f.Abort()
		for _, end := range ends {
			require.Error(t, conntest.Receive(t, end))
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// A group that is closed abandons connections, but nobody who waits for one.
func TestSocketsOfAnAbandonedGroupEnd(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 2})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		l, err := g.ListenSocket(conn.SocketListenerConfig{}, ln)
		require.NoError(t, err)
		a, b, _, err := pair(t, l, func() (net.Conn, error) { return g.DialSocketContext(t.Context(), ln.Addr()) })
		require.NoError(t, err)
		ends := make(chan error, 3)
		go func() { _, err := a.Read(make([]byte, 1)); ends <- err }()
		go func() { _, err := b.Read(make([]byte, 1)); ends <- err }()
		go func() { _, err := l.Accept(); ends <- err }()
		require.NoError(t, g.Close())
		for range cap(ends) {
			require.ErrorIs(t, conntest.Receive(t, ends), net.ErrClosed)
		}
	})
}

// The descriptor stays open for a system call that is in progress when the group is closed, and no
// longer.
func TestASocketThatSendsWhenItsGroupIsClosed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 2})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		l, err := g.ListenSocket(conn.SocketListenerConfig{}, ln)
		require.NoError(t, err)
		peer, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer peer.Close()
		s, err := l.Accept()
		require.NoError(t, err)
		raw, err := s.(*conn.Socket).SyscallConn()
		require.NoError(t, err)
		sends, release, returned := make(chan bool), make(chan bool), make(chan error, 1)
		go func() {
			returned <- raw.Write(func(uintptr) bool {
				sends <- true
				<-release
				return true
			})
		}()
		conntest.Receive(t, sends)
		require.NoError(t, g.Close())
		close(release)
		require.NoError(t, conntest.Receive(t, returned))
		require.NoError(t, peer.SetReadDeadline(time.Now().Add(conntest.Patience)))
		_, err = peer.Read(make([]byte, 1))
		require.ErrorIs(t, conn.Portable(err), syscall.ECONNRESET)
	})
}

func TestDialSocketFailsAsNetsDialDoes(t *testing.T) {
	onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
		gone := nowhere(t)
		_, err := f.DialSocketContext(t.Context(), gone)
		requireOpError(t, err, "dial", syscall.ECONNREFUSED)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = f.DialSocketContext(ctx, gone)
		requireOpError(t, err, "dial", context.Canceled)

		busy := full(t)
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err = f.DialSocketContext(ctx, busy)
		requireOpError(t, err, "dial", context.DeadlineExceeded)
		var ne net.Error
		require.ErrorAs(t, err, &ne)
		require.True(t, ne.Timeout())

		// Reads and writes of one that is still connecting wait for that, and end with it.
		s := conn.NewSocket()
		h, err := f.Dial(busy, s.Handler())
		require.NoError(t, err)
		ends := make(chan error, 3)
		go func() { _, err := s.Read(make([]byte, 1)); ends <- err }()
		go func() { _, err := s.Write([]byte("x")); ends <- err }()
		go func() { ends <- s.WaitOpen(context.Background()) }()
		require.NoError(t, h.Abort())
		for range cap(ends) {
			require.ErrorIs(t, conntest.Receive(t, ends), net.ErrClosed)
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// Where another backend is forced, workers share no threads, and all else is the same.
func TestUnlockedGroupsKeepAForcedBackend(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, func(cfg *conn.Config) { cfg.Reactor.Unlocked = true }) // it checks the backend
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), l.Addr()) })
		require.NoError(t, err)
		defer stop()
		write(t, a, "hello")
		require.Equal(t, "hello", string(read(t, b, 5)))
	})
}
