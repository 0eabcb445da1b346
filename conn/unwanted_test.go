package conn_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A multishot receive of io_uring took 1.3 MiB and more from the kernel for each connection, before
// reading was paused. Now a receive for goroutines takes one buffer at a time.

// writeSteps writes to each connection, in steps, until none takes more: the kernel has all that it
// holds, or the reader has taken all.
func writeSteps(t *testing.T, conns []net.Conn, steps, step int) {
	t.Helper()
	for range steps {
		var all sync.WaitGroup
		for _, c := range conns {
			all.Go(func() {
				_ = c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
				if _, err := c.Write(noise[:step]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// Most bytes sent to a Socket that nobody reads stay in the kernel.
func TestASocketThatNobodyReadsTakesLittleFromTheKernel(t *testing.T) {
	const clients, high, each = 20, 128 << 10, 1 << 20
	onSocketGroups(t, []int{1}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		sockets, conns := make([]*conn.Socket, clients), make([]net.Conn, clients)
		for i := range conns {
			c, err := dial(l.Addr())
			require.NoError(t, err)
			defer c.Close()
			conns[i] = c
			s, err := l.Accept()
			require.NoError(t, err)
			defer s.Close()
			sockets[i] = s.(*conn.Socket)
		}
		f.rounds(1)
		before := heapInUse()
		release := f.stick(0)
		writeSteps(t, conns, 1, each) // so much is there at once
		release()
		writeSteps(t, conns, 3, each)
		conntest.Eventually(t, func() bool { return sockets[0].Buffered() >= high })
		f.rounds(20)
		require.Less(t, (heapInUse()-before)/clients, int64(4*high), "some buffers of the reactor may be on their way")
	}, func(cfg *conn.Config) { cfg.HighWater = high })
}

// Bytes that follow a client's handshake in the same flight stay in the kernel until the handshake
// has ended. No connection is reset for them.
func TestUploadsThatFollowTheHandshakeAtOnceAreNotShed(t *testing.T) {
	const clients, workers, ceiling, each = 60, 2, 1 << 20, 256 << 10
	s := newSecret(t)
	s.server.Timeout = conntest.Patience // those that wait for memory are no slower than others
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend == "iocp" {
			t.Skip("a receive on Windows takes bytes whatever memory there is, see Config.MaxMemory")
		}
		f := covered(t, backend, workers, s.server, funcs{data: echo}, func(cfg *conn.Config) {
			cfg.MaxMemory, cfg.WriteTimeout = ceiling, 4*conntest.Patience
		})
		f.rounds(1)
		release := f.stickAll(workers)
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = tls.Client(f.dial(), s.client)
		}
		sent := make(chan error, clients)
		for _, c := range conns {
			go func() { sent <- writeAll(c, noise[:each]) }()
		}
		release()
		conntest.Crowd(t, clients, clients, func(i int) error {
			if _, err := io.ReadFull(conns[i], make([]byte, each)); err != nil {
				return err
			}
			return <-sent
		})
	})
}
