package conn_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// future is a Future that is a function.
type future func(cx *sched.Context) (struct{}, error)

func (f future) Poll(cx *sched.Context) (struct{}, error) { return f(cx) }

// body is a task's Body that is a function.
type body func(cx *sched.Context)

func (f body) Run(cx *sched.Context) bool {
	f(cx)
	return true
}

// on runs a function on a worker.
func (f *fixture) on(worker int, do func(cx *sched.Context)) {
	f.t.Helper()
	require.NoError(f.t, f.Runtime().Start())
	t := new(sched.Task)
	t.Init(f.Runtime(), body(do))
	t.Pin(worker)
	t.Wake()
}

// stick makes a worker stuck in a task until release is called.
func (f *fixture) stick(worker int) (release func()) {
	f.t.Helper()
	in, free := make(chan struct{}), make(chan struct{})
	f.on(worker, func(*sched.Context) {
		close(in)
		<-free
	})
	conntest.Receive(f.t, in)
	release = sync.OnceFunc(func() { close(free) })
	f.t.Cleanup(release)
	return release
}

// drivers are those of all workers.
func (f *fixture) drivers() []*conn.Driver {
	f.t.Helper()
	all := make([]*conn.Driver, f.Runtime().Workers())
	for i := range all {
		got := make(chan *conn.Driver, 1)
		f.on(i, func(cx *sched.Context) { got <- cx.Driver().(*conn.Driver) })
		all[i] = conntest.Receive(f.t, got)
	}
	return all
}

// rescuers has every worker rescue the others whenever it has nothing better to do, until stop.
func (f *fixture) rescuers() (stop func()) {
	f.t.Helper()
	all := f.drivers()
	var quit atomic.Bool
	var handles []*sched.JoinHandle[struct{}]
	for range 2 * len(all) {
		handles = append(handles, sched.Spawn(f.Runtime(), future(func(cx *sched.Context) (struct{}, error) {
			for _, d := range all {
				d.Rescue(cx) // its own as well: it is not in Poll
			}
			if quit.Load() {
				return struct{}{}, nil
			}
			cx.Waker().Wake()
			return struct{}{}, sched.ErrPending
		})))
	}
	return func() {
		quit.Store(true)
		for _, h := range handles {
			_, err := h.Wait(f.t.Context())
			require.NoError(f.t, err)
		}
	}
}

// Whichever worker is stuck in a task, those of its connections are served by the
// others.
func TestAStuckWorkersConnectionsAreServedByOthers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const workers, width, pieces, size = 2, 100, 5, 1000
		f := serve(t, backend, workers, funcs{data: echo})
		conns := make([]net.Conn, width)
		for i := range conns {
			conns[i] = f.dial()
			write(t, conns[i], "x")
			read(t, conns[i], 1) // it is being received from
		}
		for stuck := range workers {
			release := f.stick(stuck)
			for p := range pieces {
				for _, c := range conns {
					write(t, c, noise[p*size:][:size])
				}
				for _, c := range conns {
					require.Equal(t, noise[p*size:][:size], read(t, c, size))
				}
			}
			late := f.dial() // as is a new one, wherever the accept is
			write(t, late, "y")
			read(t, late, 1)
			release()
			conntest.Eventually(t, func() bool { return f.Runtime().Stats().Total.Rescues > 0 })
		}
	})
}

// wander is an echo whose connections go to another worker all the time.
type wander struct {
	conn.Base
	workers int
	seen    sync.Map // workers that ran a handler
}

func (h *wander) move(c *conn.Conn) {
	h.seen.Store(c.Worker(), true)
	c.Move(c.Worker() + 1 + rand.IntN(h.workers-1))
}

func (h *wander) OnOpen(c *conn.Conn) error {
	h.move(c)
	return c.SetWriteBuffer(16 << 10) // so that sends block
}

func (h *wander) OnData(c *conn.Conn) error {
	h.move(c)
	n := c.Buffered()
	if n > 0 && rand.IntN(4) == 0 { // some is left for another worker
		n -= rand.IntN(n)
	}
	p, err := c.Next(n)
	if err != nil {
		return err
	}
	if _, err := c.Write(p); err != nil {
		return err
	}
	if c.Buffered() > 0 {
		return c.Handle().Do(func(c *conn.Conn) { _ = h.OnData(c) })
	}
	if rand.IntN(8) == 0 {
		return c.Flush()
	}
	return nil
}

func TestAConnectionsTaskMayRunOnAnyWorker(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, workers := range []int{2, 4} {
			for name, configure := range map[string]func(*conn.Config){
				"": func(*conn.Config) {},
				", scarce memory, low water": func(cfg *conn.Config) {
					cfg.Reactor.Buffers, cfg.Reactor.BufferSize = 4, 4<<10
					cfg.HighWater = 16 << 10
				},
			} {
				t.Run(fmt.Sprintf("%d workers%s", workers, name), func(t *testing.T) {
					h := &wander{workers: workers}
					f := serve(t, backend, workers, h, configure)
					stop := f.rescuers()
					crowd(t, f, 12)
					stop()
					crowd(t, f, 12)
					for w := range workers {
						_, ok := h.seen.Load(w)
						require.True(t, ok, "no handler ran on worker %d", w)
					}
				})
			}
		}
	})
}

// crowd makes round trips of so many clients, which leave in all possible ways.
func crowd(t *testing.T, f *fixture, clients int) {
	t.Helper()
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	conntest.Each(t, clients, func(i int) error {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for range rounds {
			c, err := dial(f.addr)
			if err != nil {
				return err
			}
			for range 3 {
				if err := roundTrip(c, r, piece(r, 1+r.IntN(200<<10))); err != nil {
					return err
				}
			}
			switch r.IntN(3) {
			case 0:
				reset(c)
			case 1:
				_, _ = c.Write(noise[:50_000])
				reset(c)
			default:
				_ = c.Close()
			}
		}
		return nil
	})
	conntest.Eventually(t, func() bool { return f.Len() == 0 })
}

// Connections of both kinds, with sends that block, on workers that change all the time.
func TestAWanderingConnectionIsDialedPausedAndClosed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const workers, size = 3, 4 << 20
		f := newFixture(t, backend, workers)
		stop := f.rescuers()
		defer stop()
		h := &wander{workers: workers}
		sent, closed := make(chan error, 8), make(chan error, 16)
		f.listen("tcp", "127.0.0.1:0", funcs{data: h.OnData, open: h.OnOpen, close: func(_ *conn.Conn, err error) { closed <- err }})
		for range 8 {
			var got atomic.Int64
			_, err := f.Dial(f.addr, f.audit.of(funcs{
				open: func(c *conn.Conn) error {
					h.move(c)
					c.NotifySent(func(err error) { sent <- err })
					_, err := c.Write(noise)
					return err
				},
				data: func(c *conn.Conn) error {
					h.move(c)
					n, _ := c.Discard(-1)
					if total := got.Add(int64(n)); total == size {
						return c.Close()
					} else if total%int64(len(noise)) == 0 {
						_, err := c.Write(noise)
						return err
					}
					return nil
				},
				close: func(_ *conn.Conn, err error) { closed <- err },
			}))
			require.NoError(t, err)
		}
		for range 8 {
			require.NoError(t, conntest.Receive(t, sent))
		}
		for range 16 {
			require.NoError(t, conntest.Receive(t, closed))
		}
	})
}
