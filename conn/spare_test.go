package conn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/testmode"
	"github.com/suiro-go/suiro/sched"
)

// Most tests keep workers occupied, so that tasks behind them wait.
func init() { testmode.NoSpares.Store(true) }

// withSpares gives the groups of a test as many spare workers as users' groups have.
func withSpares(t *testing.T) {
	testmode.NoSpares.Store(false)
	t.Cleanup(func() { testmode.NoSpares.Store(true) })
}

// A gate is a handler's wait: for "b" it blocks its worker until another connection sends "f".
type gate struct {
	blocked atomic.Int64
	free    chan struct{}
	once    sync.Once
}

func newGate() *gate { return &gate{free: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.free) }) }

// data answers each byte by itself, in order.
func (g *gate) data(c *conn.Conn) error {
	p, err := c.Next(-1)
	if err != nil {
		return err
	}
	for i := range p {
		switch p[i] {
		case 'b':
			g.blocked.Add(1)
			<-g.free
		case 'f':
			g.open()
		}
	}
	_, err = c.Write(p)
	return err
}

// block blocks so many handlers, and returns their connections.
func (g *gate) block(f *fixture, n int) (all []net.Conn) {
	f.t.Helper()
	f.t.Cleanup(g.open)
	for range n {
		c := f.dial()
		write(f.t, c, "b")
		all = append(all, c)
	}
	conntest.Eventually(f.t, func() bool { return int(g.blocked.Load()) == n })
	return all
}

func TestARequestIsServedThatFreesAllWorkers(t *testing.T) {
	withSpares(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, placed := range []string{"old", "new"} {
			g := newGate()
			f := serve(t, backend, workers, funcs{data: g.data})
			var old []net.Conn
			for range 2 * workers { // each worker's reactor has some
				c := f.dial()
				write(t, c, "x")
				read(t, c, 1)
				old = append(old, c)
			}
			f.rounds(2) // the kernel has their receives
			blocked := g.block(f, workers)
			late := old
			if placed == "new" {
				late = []net.Conn{f.dial(), f.dial()}
			}
			for _, c := range late {
				write(t, c, "y")
				require.Equal(t, "y", string(read(t, c, 1)))
			}
			write(t, late[0], "f")
			read(t, late[0], 1)
			for _, c := range blocked {
				require.Equal(t, "b", string(read(t, c, 1)))
			}
			for _, c := range append(blocked, append(late, old...)...) { // after the spares were recalled too
				write(t, c, "z")
				require.Equal(t, "z", string(read(t, c, 1)))
			}
			conntest.Eventually(t, func() bool { return f.Runtime().Stats().Deployed == 0 })
			for _, c := range append(blocked, late...) {
				write(t, c, "z")
				require.Equal(t, "z", string(read(t, c, 1)))
			}
		}
	})
}

func TestASequentialHandlerFreesAllWorkers(t *testing.T) {
	withSpares(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := newGate()
		f := newFixture(t, backend, workers)
		f.listenTo(conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
			p := make([]byte, 1)
			for {
				if _, err := io.ReadFull(s, p); err != nil {
					return nil
				}
				if p[0] == 'f' {
					g.open()
				}
				if _, err := s.Write(p); err != nil {
					return err
				}
			}
		}))
		f.rounds(2) // the kernel has the accept
		release := f.stickAll(workers)
		go func() { <-g.free; release() }()
		late := f.dial() // an old one may be bound to a worker that is stuck
		for range 3 {
			write(t, late, "x")
			read(t, late, 1)
		}
		write(t, late, "f")
		read(t, late, 1)
		conntest.Eventually(t, func() bool { return f.Runtime().Stats().Deployed == 0 })
		for _, c := range []net.Conn{f.dial(), late} {
			write(t, c, "z")
			require.Equal(t, "z", string(read(t, c, 1)))
		}
	})
}

func TestWhatIsMoreThanSparesWaitsAndIsServedThen(t *testing.T) {
	withSpares(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		const width, spares = 64, 4
		g := newGate()
		f := serve(t, backend, 1, funcs{data: g.data})
		var all []net.Conn
		for range width {
			c := f.dial()
			write(t, c, "b")
			all = append(all, c)
		}
		defer g.open()
		conntest.Eventually(t, func() bool {
			return f.Runtime().Stats().Exhausted > 0 && g.blocked.Load() == 1+spares &&
				strings.Contains(f.log.String(), "all workers and all spare workers are stuck") // logged beside the looks
		})
		g.open()
		for _, c := range all {
			read(t, c, 1)
		}
		require.EqualValues(t, width, g.blocked.Load())
	})
}

func TestABlockedHandlersConnectionKeepsItsOrder(t *testing.T) {
	withSpares(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := newGate()
		f := serve(t, backend, workers, funcs{data: g.data})
		blocked := g.block(f, workers)
		other := f.dial()
		const size = 100_000
		for i, c := range blocked {
			write(t, c, lower(noise[i*size:][:size]))
			write(t, other, "x") // the bytes sent before have arrived
			read(t, other, 1)
		}
		g.open()
		for i, c := range blocked {
			require.Equal(t, "b"+string(lower(noise[i*size:][:size])), string(read(t, c, 1+size)))
		}
	})
}

// lower is bytes that the gate lets pass.
func lower(p []byte) []byte {
	q := make([]byte, len(p))
	for i, b := range p {
		q[i] = b & 0x1f
	}
	return q
}

func TestConnectionsEndBesideBlockedWorkers(t *testing.T) {
	withSpares(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := newGate()
		closed, passed := make(chan error, 64), make(chan struct{})
		f := serve(t, backend, workers, funcs{
			data: func(c *conn.Conn) error {
				if p, _ := c.Peek(1); string(p) == "d" { // answered in any case
					return errors.Join(c.SetReadDeadline(time.Now().Add(300*time.Millisecond)), g.data(c))
				}
				return g.data(c)
			},
			deadline: func(c *conn.Conn) error { close(passed); return c.Close() },
			close:    func(_ *conn.Conn, err error) { closed <- err }})
		var all []net.Conn
		for range 3 {
			c := f.dial()
			write(t, c, "x")
			read(t, c, 1)
			all = append(all, c)
		}
		write(t, all[0], "d")
		read(t, all[0], 1)
		f.rounds(2)
		g.block(f, workers)
		_ = all[1].Close()
		conntest.Receive(t, closed)
		conntest.Receive(t, passed)
		require.Empty(t, readEOF(t, all[0]))
		write(t, all[2], "x")
		read(t, all[2], 1)
		g.open()
	})
}

func TestASpliceGoesOnBesideBlockedWorkers(t *testing.T) {
	withSpares(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		client, origin := p.pair()
		p.splices(1)
		p.rounds(2)
		release := p.stickAll(workers)
		for range 3 {
			write(t, client, noise)
			require.Equal(t, noise, read(t, origin, len(noise)))
			write(t, origin, "answer")
			require.Equal(t, "answer", string(read(t, client, 6)))
		}
		later, origin2 := p.pair()
		write(t, later, "later")
		require.Equal(t, "later", string(read(t, origin2, 5)))
		release()
		_ = client.Close()
		_ = later.Close()
		require.Empty(t, readEOF(t, origin))
		require.Empty(t, readEOF(t, origin2))
		_, _ = origin.Close(), origin2.Close()
		p.ended(2)
	})
}

func TestStopNamesStuckSpares(t *testing.T) {
	withSpares(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		g := newGate()
		f := serve(t, backend, 1, funcs{data: g.data})
		g.block(f, 2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := f.Stop(ctx)
		require.ErrorIs(t, err, conn.ErrStuck)
		require.ErrorContains(t, err, "worker 0 is in a task")
		require.ErrorContains(t, err, "worker 1 is in a task")
		g.open()
		conntest.Receive(t, f.Runtime().Done())
		require.Zero(t, f.Len())
	})
}
