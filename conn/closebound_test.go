package conn_test

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// floodLinger is a time to linger that is no bound within a test, but where the kernel does
// not say what the peer has acknowledged: there the reset waits for its end.
func floodLinger() time.Duration {
	if runtime.GOOS == "linux" {
		return time.Hour
	}
	return shortLinger
}

// flood writes until that fails, and returns how much it has written. It gives up far beyond the
// number of bytes that may be dropped and that the sockets of both ends buffer.
func flood(c net.Conn) (sent int) {
	const enough = 64 << 20
	for sent < enough {
		n, err := c.Write(noise)
		sent += n
		if err != nil {
			break
		}
	}
	return sent
}

// requireBounded checks what flood has returned: 2 MiB, and what the kernel buffers.
func requireBounded(t *testing.T, sent int) {
	t.Helper()
	require.Less(t, sent, 32<<20, "the closed connection has swallowed without bound")
}

func TestAClosedConnectionDropsABoundedAmount(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error { return c.Close() }},
			func(cfg *conn.Config) { cfg.LingerTimeout = floodLinger() })
		requireBounded(t, flood(f.dial()))
		require.NoError(t, conntest.Receive(t, closed))
	})
}

func TestAClosedSocketDropsABoundedAmount(t *testing.T) {
	onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		c, err := dial(l.Addr())
		require.NoError(t, err)
		defer c.Close()
		write(t, c, "x")
		s, err := l.Accept()
		require.NoError(t, err)
		read(t, s, 1)
		require.NoError(t, s.Close())
		requireBounded(t, flood(c))
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	}, func(cfg *conn.Config) { cfg.LingerTimeout = floodLinger() })
}

// The bound costs the peer nothing of the answer: what it has not taken yet is waited for.
func TestAFloodDoesNotCostThePeerTheAnswer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const answer = 8 << 20
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
			for range answer / len(noise) {
				if _, err := c.Write(noise); err != nil {
					return err
				}
			}
			return c.Close()
		}}, func(cfg *conn.Config) { cfg.LingerTimeout, cfg.MaxWrite = time.Hour, 2*answer })
		c := f.dial()
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10))
		flooded := make(chan int, 1)
		go func() { flooded <- flood(c) }()
		for range answer / len(noise) {
			require.Equal(t, noise, read(t, c, len(noise)))
		}
		if runtime.GOOS != "linux" { // see floodLinger
			f.Abort()
		}
		requireBounded(t, conntest.Receive(t, flooded))
		conntest.Receive(t, closed)
	})
}

// The same of TLS, whose close-notify is a part of the answer.
func TestAClosedTLSConnectionDropsABoundedAmount(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := newSecret(t)
		f := covered(t, backend, 2, s.server, funcs{data: func(c *conn.Conn) error {
			if _, err := c.WriteString("no"); err != nil {
				return err
			}
			return c.Close()
		}}, func(cfg *conn.Config) { cfg.LingerTimeout = floodLinger() })
		c := f.dialTLS(s.client)
		flooded := make(chan int, 1)
		go func() { flooded <- flood(c) }()
		require.Equal(t, "no", string(read(t, c, 2)))
		requireBounded(t, conntest.Receive(t, flooded))
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}
