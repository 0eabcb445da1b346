package conn_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// closedPort is an address of this host at which nobody listens.
func closedPort(t *testing.T) *net.TCPAddr {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	return ln.Addr().(*net.TCPAddr)
}

// dialEnd is the error with which a connection ends that is dialed.
func dialEnd(t *testing.T, f *fixture, cfg *conn.DialConfig) error {
	closed, tell := ends(1)
	_, err := f.DialWith(cfg, f.audit.of(funcs{open: func(*conn.Conn) error { return errors.New("it is open") }, close: tell}))
	require.NoError(t, err)
	return conntest.Receive(t, closed)
}

func TestARefusedDialSaysWhatNetSays(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		to := closedPort(t)
		_, want := net.DialTCP("tcp", nil, to)
		require.Error(t, want)
		require.EqualError(t, dialEnd(t, f, &conn.DialConfig{Addrs: []net.Addr{to}}), want.Error())
	})
}

// The system may give a socket the very port that it is to connect to. Control stands in for that.
func TestADialDoesNotConnectToItself(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, more := range map[string]int{"one address": 0, "several": 1} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, backend, 1)
				cfg := &conn.DialConfig{Addrs: []net.Addr{closedPort(t)}}
				for range more {
					cfg.Addrs = append(cfg.Addrs, closedPort(t))
				}
				cfg.Control = func(_, address string, raw syscall.RawConn) (err error) {
					to, _ := net.ResolveTCPAddr("tcp4", address)
					return errors.Join(raw.Control(func(fd uintptr) {
						err = unix.Bind(int(fd), &unix.SockaddrInet4{Addr: [4]byte(to.IP.To4()), Port: to.Port})
					}), err)
				}
				require.ErrorIs(t, dialEnd(t, f, cfg), syscall.ECONNREFUSED)
			})
		}
	})
}

// A zone may be the number of an interface.
func TestADialTakesAZoneByNumber(t *testing.T) {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	defer ln.Close()
	to := *ln.Addr().(*net.TCPAddr)
	to.Zone = "1" // the loopback interface
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		opened := make(chan bool, 1)
		_, err := f.Dial(&to, funcs{open: func(c *conn.Conn) error {
			opened <- true
			return c.Close()
		}})
		require.NoError(t, err)
		conntest.Receive(t, opened)
		peer := conntest.Receive(t, accepted(ln))
		require.NoError(t, peer.Close())
	})
}

// accepted is the next connection of a listener.
func accepted(ln net.Listener) <-chan net.Conn {
	next := make(chan net.Conn, 1)
	go func() {
		if c, err := ln.Accept(); err == nil {
			next <- c
		}
	}()
	return next
}

// A peer that resets at once takes the connection's end to the workers while its owner asks for
// the address.
func TestAnAcceptedSocketAlwaysHasItsAddress(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2)
		l := f.open("tcp", conn.SocketListenerConfig{})
		for range 300 {
			c := f.dial()
			reset(c)
			s, err := l.Accept()
			require.NoError(t, err)
			for over := false; !over; over = f.Len() == 0 {
				require.NotNil(t, s.LocalAddr())
				require.NotNil(t, s.RemoteAddr())
			}
			require.Equal(t, l.Addr().String(), s.LocalAddr().String())
			_ = s.Close()
		}
	})
}
