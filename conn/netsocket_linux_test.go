package conn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A stream is what package net's connections and ours have in common.
type stream interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// onStreams runs a test on pairs of package net's connections, which say what is right,
// and of ours. The first of a pair was accepted.
func onStreams(t *testing.T, test func(t *testing.T, pair func(network string) (a, b stream))) {
	ends := func(t *testing.T, l net.Listener, dial func() (net.Conn, error)) (a, b stream) {
		c1, c2, stop, err := pair(t, l, dial)
		require.NoError(t, err)
		t.Cleanup(stop)
		return c1.(stream), c2.(stream)
	}
	t.Run("net", func(t *testing.T) {
		conntest.Guard(t)
		test(t, func(network string) (a, b stream) {
			addr := "127.0.0.1:0"
			if network == "unix" {
				addr = t.TempDir() + "/s"
			}
			l, err := net.Listen(network, addr)
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			return ends(t, l, func() (net.Conn, error) { return net.Dial(network, l.Addr().String()) })
		})
	})
	onSocketGroups(t, []int{1, 2, 4}, func(t *testing.T, f *fixture) {
		test(t, func(network string) (a, b stream) {
			l := f.open(network, conn.SocketListenerConfig{})
			return ends(t, l, func() (net.Conn, error) { return f.DialSocket(t.Context(), l.Addr()) })
		})
	}, func(cfg *conn.Config) { cfg.Linger = 200 * time.Millisecond })
}

func TestSocketDeadlinesAreAsNets(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		a, b := pair("tcp")
		p := make([]byte, 10)
		timedOut := func(err error, op string) {
			t.Helper()
			requireOpError(t, err, op, os.ErrDeadlineExceeded)
			var ne net.Error
			require.ErrorAs(t, err, &ne)
			require.True(t, ne.Timeout())
		}
		for _, at := range []time.Time{time.Now().Add(-time.Second), time.Unix(1, 0), time.Now().Add(10 * time.Millisecond)} {
			require.NoError(t, a.SetReadDeadline(at))
			for range 2 {
				n, err := a.Read(p)
				require.Zero(t, n)
				timedOut(err, "read")
			}
			require.False(t, time.Now().Before(at))
		}
		// What has come by then is read with a later one.
		write(t, b, "hello")
		_, err := a.Read(p)
		timedOut(err, "read")
		n, err := a.Read(nil)
		require.NoError(t, err, "a read of nothing waits for nothing")
		require.Zero(t, n)
		require.NoError(t, a.SetReadDeadline(time.Now().Add(time.Hour)))
		require.Equal(t, "hello", string(read(t, a, 5)))

		require.NoError(t, a.SetWriteDeadline(time.Now().Add(-time.Second)))
		_, err = a.Write(p)
		timedOut(err, "write")
		require.NoError(t, a.SetDeadline(time.Time{}))

		// One that is set while a read waits ends it, and one that is taken back does not.
		for range 20 {
			reads := make(chan error, 3)
			for range cap(reads) {
				go func() { _, err := a.Read(make([]byte, 10)); reads <- err }()
			}
			require.NoError(t, a.SetReadDeadline(time.Now().Add(time.Hour)))
			require.NoError(t, a.SetReadDeadline(time.Now().Add(time.Millisecond)))
			require.NoError(t, a.SetReadDeadline(time.Time{}))
			require.NoError(t, a.SetReadDeadline(time.Now()))
			for range cap(reads) {
				timedOut(conntest.Receive(t, reads), "read")
			}
			require.NoError(t, a.SetReadDeadline(time.Time{}))
		}
		write(t, b, "still")
		require.Equal(t, "still", string(read(t, a, 5)))

		// A write that the peer does not take returns how much was taken; all of that arrives.
		big := bytes.Repeat(noise, 32)
		require.NoError(t, a.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		n, err = a.Write(big)
		timedOut(err, "write")
		require.Less(t, n, len(big))
		require.Positive(t, n)
		require.NoError(t, a.SetWriteDeadline(time.Time{}))
		wrote := make(chan error, 1)
		go func() {
			_, err := a.Write(big[n:])
			wrote <- err
			_ = a.CloseWrite()
		}()
		require.True(t, bytes.Equal(big, readEOF(t, b)))
		require.NoError(t, conntest.Receive(t, wrote))
	})
}

func TestSocketCloseEndsWhatWaits(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		for _, network := range []string{"tcp", "unix"} {
			a, _ := pair(network)
			ends := make(chan error, 6)
			for range 3 {
				go func() { _, err := a.Read(make([]byte, 10)); ends <- err }()
				go func() {
					var err error
					for err == nil {
						_, err = a.Write(noise)
					}
					ends <- err
				}()
			}
			local, remote := a.LocalAddr().String(), a.RemoteAddr().String()
			require.NoError(t, a.Close())
			for range cap(ends) {
				require.ErrorIs(t, conntest.Receive(t, ends), net.ErrClosed)
			}
			_, err := a.Read(make([]byte, 1))
			requireOpError(t, err, "read", net.ErrClosed)
			_, err = a.Read(nil)
			requireOpError(t, err, "read", net.ErrClosed)
			_, err = a.Write([]byte("x"))
			requireOpError(t, err, "write", net.ErrClosed)
			requireOpError(t, a.Close(), "close", net.ErrClosed)
			requireOpError(t, a.CloseWrite(), "close", net.ErrClosed)
			requireOpError(t, a.CloseRead(), "close", net.ErrClosed)
			requireOpError(t, a.SetDeadline(time.Now()), "set", net.ErrClosed)
			requireOpError(t, a.SetReadBuffer(1<<16), "set", net.ErrClosed)
			require.Equal(t, local, a.LocalAddr().String(), "it stays known")
			require.Equal(t, remote, a.RemoteAddr().String())
		}
	})
}

func TestSocketSendsEverythingBeforeItsFIN(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		for _, network := range []string{"tcp", "unix"} {
			a, b := pair(network)
			require.Equal(t, a.LocalAddr().Network(), network)
			require.NoError(t, b.SetDeadline(time.Now().Add(conntest.Patience)))
			sent := 0
			got := make(chan []byte, 1)
			go func() { got <- readEOF(t, b) }()
			for i := range 50 {
				n, err := a.Write(noise[:i*1000])
				require.NoError(t, err)
				sent += n
			}
			require.NoError(t, a.Close())
			require.Len(t, conntest.Receive(t, got), sent)
		}
	})
}

func TestSocketHalfClosesAsNetsDo(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		for _, network := range []string{"tcp", "unix"} {
			a, b := pair(network)
			write(t, a, "question")
			require.NoError(t, a.CloseWrite())
			_, err := a.Write([]byte("more"))
			requireOpError(t, err, "write", syscall.EPIPE)
			require.Equal(t, "question", string(readEOF(t, b)))
			n, err := b.Read(make([]byte, 1))
			require.Zero(t, n)
			require.Equal(t, io.EOF, err, "again, and as it is")
			write(t, b, "answer")
			require.Equal(t, "answer", string(read(t, a, 6)))

			ended := make(chan error, 1)
			go func() { _, err := a.Read(make([]byte, 1)); ended <- err }()
			require.NoError(t, a.CloseRead())
			require.Equal(t, io.EOF, conntest.Receive(t, ended))
			_, err = a.Read(make([]byte, 1))
			require.Equal(t, io.EOF, err)
			require.NoError(t, b.Close())
			require.NoError(t, a.Close())
		}
	})
}

func TestSocketIsToldOfAReset(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		for range 5 {
			a, b := pair("tcp")
			require.NoError(t, b.(interface{ SetLinger(int) error }).SetLinger(0))
			read := make(chan error, 1)
			go func() { _, err := a.Read(make([]byte, 1)); read <- err }()
			require.NoError(t, b.Close())
			requireOpError(t, conntest.Receive(t, read), "read", syscall.ECONNRESET)
			var err error
			for err == nil { // package net's tells with the first
				_, err = a.Write(noise[:10])
			}
			var oe *net.OpError
			require.ErrorAs(t, err, &oe)
			require.Equal(t, "write", oe.Op)
			require.True(t, errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET), err)
			require.NoError(t, a.Close())
		}
	})
}

func TestConcurrentWritesAreNotMixed(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		a, b := pair("tcp")
		const writers, rounds, size = 8, 20, 100_000 // more than the queue holds
		got := make(chan []byte, 1)
		go func() { got <- readEOF(t, b) }()
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for range rounds {
					n, err := a.Write(bytes.Repeat([]byte{byte(w)}, size))
					if err != nil || n != size {
						t.Error(n, err)
					}
				}
			})
		}
		all.Wait()
		require.NoError(t, a.CloseWrite())
		p := conntest.Receive(t, got)
		require.Len(t, p, writers*rounds*size)
		for i := 0; i < len(p); i += size {
			require.Equal(t, size, bytes.Count(p[i:i+size], p[i:i+1]))
		}
	})
}

// Several goroutines read what several write: each byte comes out once.
func TestConcurrentReadsShareWhatComes(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		a, b := pair("tcp")
		const total = 4 << 20
		sums := make(chan int, 4)
		for i := range cap(sums) {
			go func() {
				n := 0
				if i == 0 {
					m, _ := io.Copy(io.Discard, b)
					n = int(m)
				} else {
					p := make([]byte, 1000*i)
					for {
						m, err := b.Read(p)
						n += m
						if err != nil {
							break
						}
					}
				}
				sums <- n
			}()
		}
		for i := range 4 {
			write(t, a, noise[:total/4-i])
		}
		require.NoError(t, a.CloseWrite())
		sum := 6
		for range cap(sums) {
			sum += conntest.Receive(t, sums)
		}
		require.Equal(t, total, sum)
	})
}

func TestIoCopyGoesThroughSockets(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		a, b := pair("tcp")
		c, d := pair("tcp")
		go func() { // b to c
			_, err := io.Copy(c, b)
			if err != nil {
				t.Error(err)
			}
			_ = c.CloseWrite()
		}()
		go func() {
			n, err := io.Copy(a, bytes.NewReader(noise))
			if err != nil || n != int64(len(noise)) {
				t.Error(n, err)
			}
			_ = a.CloseWrite()
		}()
		var got bytes.Buffer
		n, err := io.Copy(&got, d)
		require.NoError(t, err)
		require.EqualValues(t, len(noise), n)
		require.True(t, bytes.Equal(noise, got.Bytes()))
	})
}

func TestSocketOptionsAndAddressesAreAsNets(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		a, b := pair("tcp")
		require.Equal(t, a.LocalAddr().String(), b.RemoteAddr().String())
		require.Equal(t, b.LocalAddr().String(), a.RemoteAddr().String())
		require.IsType(t, &net.TCPAddr{}, a.LocalAddr())
		tcp := a.(interface {
			SetNoDelay(bool) error
			SetKeepAlive(bool) error
			SetKeepAlivePeriod(time.Duration) error
			SetKeepAliveConfig(net.KeepAliveConfig) error
			SetLinger(int) error
		})
		require.NoError(t, tcp.SetNoDelay(false))
		require.NoError(t, tcp.SetKeepAlive(true))
		require.NoError(t, tcp.SetKeepAlivePeriod(time.Minute))
		require.NoError(t, tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Count: 3}))
		require.NoError(t, tcp.SetLinger(-1))
		require.NoError(t, a.SetReadBuffer(1<<16))
		require.NoError(t, a.SetWriteBuffer(1<<16))
		c, d := pair("unix")
		require.IsType(t, &net.UnixAddr{}, c.LocalAddr())
		require.Equal(t, c.LocalAddr().String(), d.RemoteAddr().String())
	})
}

// What nobody reads stays with the peer, and what a peer does not read with the writer.
func TestSocketsBufferLittle(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocket(t.Context(), f.addr) })
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
		conntest.Eventually(t, func() bool { return r.Paused() && unsent() == 64<<10 && s.WaitsForRoom() },
			func() string { return f.Dump() })
		const high, piece = 256 << 10, 64 << 10
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
		dial := func() (net.Conn, error) { return f.DialSocket(t.Context(), f.addr) }
		_, _, stop, err := pair(t, l, dial) // the group's own
		require.NoError(t, err)
		defer stop()
		before := runtime.NumGoroutine()
		for range 100 {
			a, b, stop, err := pair(t, l, dial)
			require.NoError(t, err)
			defer stop()
			require.NoError(t, a.SetDeadline(time.Now().Add(time.Hour)))
			write(t, a, "hello")
			require.Equal(t, "hello", string(read(t, b, 5)))
		}
		conntest.Eventually(t, func() bool { return runtime.NumGoroutine() <= before })
	})
}

func TestSocketsEndWithTheGroup(t *testing.T) {
	onSocketGroups(t, []int{1, 2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		var ends []chan error
		var stops []func()
		for range 2 {
			a, b, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocket(t.Context(), f.addr) })
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
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer ln.Close()
		l, err := g.OpenListener(conn.SocketListenerConfig{}, ln)
		require.NoError(t, err)
		a, b, _, err := pair(t, l, func() (net.Conn, error) { return g.DialSocket(t.Context(), ln.Addr()) })
		require.NoError(t, err)
		ends := make(chan error, 3)
		go func() { _, err := a.Read(make([]byte, 1)); ends <- err }()
		go func() { _, err := b.Read(make([]byte, 1)); ends <- err }()
		go func() { _, err := l.Accept(); ends <- err }()
		fds := []int{a.(*conn.Socket).FD(), b.(*conn.Socket).FD(), l.FD()}
		require.NoError(t, g.Close())
		for range cap(ends) {
			require.ErrorIs(t, conntest.Receive(t, ends), net.ErrClosed)
		}
		for _, fd := range fds { // abandoned indeed
			require.NoError(t, syscall.Close(fd))
		}
	})
}

func TestDialSocketFailsAsNetsDialDoes(t *testing.T) {
	onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		gone := ln.Addr()
		require.NoError(t, ln.Close())
		_, err = f.DialSocket(t.Context(), gone)
		requireOpError(t, err, "dial", syscall.ECONNREFUSED)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = f.DialSocket(ctx, gone)
		requireOpError(t, err, "dial", context.Canceled)

		busy := full(t)
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err = f.DialSocket(ctx, busy)
		requireOpError(t, err, "dial", context.DeadlineExceeded)
		var ne net.Error
		require.ErrorAs(t, err, &ne)
		require.True(t, ne.Timeout())

		// Reads and writes of one that is still connecting wait for that, and end with it.
		s := conn.NewSocket()
		h, err := f.Dial(busy, s)
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
