package conn_test

import (
	"bytes"
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
)

// A stream is what package net's connections and ours have in common.
type stream interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// skipNetOnWindows is for what package net's connections are to show: there they differ
// from what they are elsewhere, in errors and in reads of nothing.
func skipNetOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("package net differs on Windows")
	}
}

// onStreams runs a test on pairs of package net's connections, which define the right behavior, and
// of ours. The first of a pair was accepted.
func onStreams(t *testing.T, test func(t *testing.T, pair func(network string) (a, b stream))) {
	ends := func(t *testing.T, l net.Listener, dial func() (net.Conn, error)) (a, b stream) {
		c1, c2, stop, err := pair(t, l, dial)
		require.NoError(t, err)
		t.Cleanup(stop)
		return c1.(stream), c2.(stream)
	}
	t.Run("net", func(t *testing.T) {
		skipNetOnWindows(t)
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
	onSocketGroups(t, conntest.Workers(t), func(t *testing.T, f *fixture) {
		test(t, func(network string) (a, b stream) {
			l := f.open(network, conn.SocketListenerConfig{})
			return ends(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), l.Addr()) })
		})
	}, func(cfg *conn.Config) { cfg.LingerTimeout = 2 * time.Second })
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
		// Bytes that have arrived by then are read with a later one.
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
		began := time.Now()
		for n = 0; n == 0; { // the deadline may have passed before the write
			require.Less(t, time.Since(began), conntest.Patience)
			require.NoError(t, a.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
			n, err = a.Write(big)
			timedOut(err, "write")
		}
		require.Less(t, n, len(big))
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
		for _, network := range conntest.Networks(t, "tcp", "unix") {
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

func TestSocketHalfClosesAsNetsDo(t *testing.T) {
	onStreams(t, func(t *testing.T, pair func(string) (a, b stream)) {
		for _, network := range conntest.Networks(t, "tcp", "unix") {
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
			err := conntest.Receive(t, read)
			if conntest.Wine() && err == io.EOF {
				require.NoError(t, a.Close())
				continue
			}
			requireOpError(t, err, "read", syscall.ECONNRESET)
			err = nil
			for err == nil { // package net's tells with the first
				_, err = a.Write(noise[:10])
			}
			var oe *net.OpError
			require.ErrorAs(t, err, &oe)
			require.Equal(t, "write", oe.Op)
			require.True(t, errors.Is(conn.Portable(err), syscall.EPIPE) || errors.Is(conn.Portable(err), syscall.ECONNRESET), err)
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
		runtime.GC() // package net's copies keep their pipes in a sync.Pool
		runtime.GC()
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
		conntest.Need(t, "unix")
		c, d := pair("unix")
		require.IsType(t, &net.UnixAddr{}, c.LocalAddr())
		require.Equal(t, c.LocalAddr().String(), d.RemoteAddr().String())
	})
}
