package interop

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// An opener opens package net's sockets, or ours on one server. Any goroutine may call it. The end
// of the test closes sockets that are still open.
type opener struct {
	packet func() (net.PacketConn, error)
	listen func() (net.Listener, error)
	dial   func(network string, to net.Addr) (net.Conn, error) // after packet or listen
	end    func()                                              // closes all, as the end of the server does
}

// overOpeners runs a test with package net's sockets, which are the reference, and on ours on each
// backend.
func overOpeners(t *testing.T, test func(t *testing.T, s *opener)) {
	t.Run("net", func(t *testing.T) {
		conntest.Guard(t)
		test(t, netOpener(t))
	})
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		test(t, ourOpener(t, backend, workers))
	})
}

func netOpener(t *testing.T) *opener {
	opened := make(chan interface{ Close() error }, 1000)
	end := func() {
		for {
			select {
			case c := <-opened:
				_ = c.Close() // the test may have closed it
			default:
				return
			}
		}
	}
	t.Cleanup(end)
	return &opener{
		packet: func() (net.PacketConn, error) {
			p, err := net.ListenPacket("udp4", "127.0.0.1:0")
			if err == nil {
				opened <- p
			}
			return p, err
		},
		listen: func() (net.Listener, error) {
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			if err == nil {
				opened <- ln
			}
			return ln, err
		},
		dial: func(network string, to net.Addr) (net.Conn, error) {
			c, err := net.Dial(network, to.String())
			if err == nil {
				opened <- c
			}
			return c, err
		},
		end: end,
	}
}

func ourOpener(t *testing.T, backend string, workers int) *opener {
	s := &server.Server{Backend: backend, Workers: workers}
	end := sync.OnceFunc(func() { require.NoError(t, s.Close()) })
	t.Cleanup(end)
	d := &server.Dialer{Group: s.Group}
	return &opener{
		packet: func() (net.PacketConn, error) { return s.ListenPacket("udp4", "127.0.0.1:0") },
		listen: func() (net.Listener, error) { return s.Listen("tcp4", "127.0.0.1:0") },
		dial: func(network string, to net.Addr) (net.Conn, error) {
			return d.DialContext(context.Background(), network, to.String())
		},
		end: end,
	}
}
