package conn_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The audit of the fixture sees to "no stale callback" and "none
// closed twice", the guard to "no descriptor left".
func TestClosingAtRandomMidTraffic(t *testing.T) {
	n := 2500
	if testing.Short() {
		n = 500
	}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		handles := make(chan conn.Handle, n)
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error { handles <- c.Handle(); return nil },
			data: func(c *conn.Conn) error {
				switch rand.IntN(40) {
				case 0:
					return c.Close()
				case 1:
					c.Abort()
				case 2:
					return errTest
				case 3:
					_ = c.SetReadDeadline(c.Now().Add(time.Duration(rand.IntN(3)) * time.Millisecond))
				}
				return echo(c)
			},
		}, func(cfg *conn.Config) { cfg.LingerTimeout = 100 * time.Millisecond })
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() { // a third party that closes by handle
			defer close(stopped)
			for {
				select {
				case h := <-handles:
					switch rand.IntN(6) {
					case 0:
						_ = h.Close()
					case 1:
						_ = h.Abort()
					case 2:
						_ = h.Send([]byte("unasked"))
						_ = h.Close()
					}
				case <-stop:
					return
				}
			}
		}()
		conntest.Crowd(t, n, 100, func(i int) error {
			c, err := dial(f.addr)
			if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
				return nil // aborted as it was opened
			} else if err != nil {
				return err
			}
			defer c.Close()
			r := rand.New(rand.NewPCG(uint64(i), 68))
			for range r.IntN(8) { // errors are what this is about
				if _, err := c.Write(piece(r, 1+r.IntN(8<<10))); err != nil {
					break
				}
				if r.IntN(2) == 0 {
					_, _ = io.ReadAtLeast(c, make([]byte, 32<<10), 1)
				}
			}
			if r.IntN(3) == 0 {
				reset(c)
			}
			return nil
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		close(stop)
		conntest.Receive(t, stopped)
		require.GreaterOrEqual(t, f.audit.closed.Load(), int64(n*9/10), "connections that came to be")
	})
}

// The next connection gets the number of the one just closed, while
// events of that may be on their way. Each says who it is before it echoes.
func TestNoEventCrossesWhenADescriptorNumberIsReused(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		rounds := 100
		if testing.Short() {
			rounds = 20
		}
		var id atomic.Int64
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error {
				c.SetValue(id.Add(1))
				return nil
			},
			data: func(c *conn.Conn) error {
				p, _ := c.Next(-1)
				if p[0] == 'q' { // ends at once, with bytes of the peer's on their way
					c.Abort()
					return nil
				}
				_, err := fmt.Fprintf(c, "%d %s", c.Value(), p)
				return err
			},
		})
		conntest.Each(t, 4, func(int) error {
			for range rounds {
				victim, err := dial(f.addr)
				if err != nil {
					return err
				}
				_, _ = victim.Write([]byte("q"))
				_, _ = victim.Write([]byte("stray bytes"))
				next, err := dial(f.addr)
				if err != nil {
					return err
				}
				if rand.IntN(2) == 0 {
					reset(victim)
				}
				if _, err = next.Write([]byte("mine")); err != nil {
					return err
				}
				p := make([]byte, 100)
				n, err := next.Read(p)
				if err != nil {
					return fmt.Errorf("an innocent connection: %w", err)
				}
				var who int
				var text string
				if _, err := fmt.Sscanf(string(p[:n]), "%d %s", &who, &text); err != nil || text != "mine" {
					return fmt.Errorf("got %q, %w", p[:n], err)
				}
				_ = next.Close()
				_ = victim.Close()
			}
			return nil
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// Many connections, a third each: the peer closes first, the server closes first, the peer
// resets. The guard looks for leaks.
func TestNothingIsLeftOfThousandsOfConnections(t *testing.T) {
	n := 10_000
	switch {
	case conntest.Thorough:
		n = 50_000
	case testing.Short():
		n = 3_000
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		var closed atomic.Int64
		f := newFixture(t, backend, 2)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = ln.Close() })
		l, err := f.Listen(ln, funcs{ // not audited: that is what the others are for
			data:  func(c *conn.Conn) error { _ = discard(c); return c.Close() },
			close: func(*conn.Conn, error) { closed.Add(1) },
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		port := ln.Addr().(*net.TCPAddr).Port
		before := sockets() // with the listener, its copy and the group's inert socket
		conntest.Crowd(t, n, 8, func(i int) error { return touch(port, i) })
		conntest.Eventually(t, func() bool { return closed.Load() == int64(n) }, func() string { return fmt.Sprint(closed.Load(), " closed") })
		conntest.Eventually(t, func() bool { return f.Len() == 0 }) // a moment after the last OnClose
		conntest.Eventually(t, func() bool { return sockets() == before })
	})
}

func sockets() int { return strings.Count(strings.Join(conntest.Descriptors(), " "), "socket:") }

// touch connects and closes. Source addresses vary, and two thirds of the ends
// leave no TIME_WAIT behind, so that ports do not run out.
func touch(port, i int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	from := &unix.SockaddrInet4{Addr: [4]byte{127, 0, byte(1 + i%7), byte(1 + i/7%250)}}
	if err := unix.Bind(fd, from); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	to := unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}
	for {
		if err = unix.Connect(fd, &to); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	switch i % 3 {
	case 0: // the peer closes first
	case 1: // the server does
		if _, err := unix.Write(fd, []byte("x")); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		var p [1]byte
		for {
			var got int
			if got, err = unix.Read(fd, p[:]); err != unix.EINTR {
				if got != 0 || err != nil {
					return fmt.Errorf("read %d, %w", got, err)
				}
				break
			}
		}
	case 2:
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	return nil
}
