package reactortest

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var rescuing = []behavior{
	{"a rescuer finds what has completed while the owner waits elsewhere", testRescueBlocked},
	{"a rescuer finds what has completed while the owner computes", testRescueSpinning},
	{"a rescue that finds nothing does no harm", testRescueNothing},
	{"a wake that a rescuer comes across still ends the owner's wait", testRescueWake},
	{"a hold that follows a rescue ends", testRescueHold},
	{"bytes keep their order, whoever takes them", testRescueOrder},
	{"a rescue fills a small out again and again, in order", testRescueSmallOut},
	{"the owner submits while it is rescued", testRescueSubmit},
	{"a starved receive goes on after a rescuer's release", testRescueStarved},
}

// rescue takes completions on another goroutine while the owner waits for it.
func (l *loop) rescue() []reactor.Completion {
	l.t.Helper()
	var got []reactor.Completion
	require.NoError(l.t, <-inBackground(func() (err error) {
		got, err = rescue(l.r, len(l.out))
		return err
	}))
	return got
}

func rescue(r reactor.Reactor, room int) ([]reactor.Completion, error) {
	out := make([]reactor.Completion, room)
	n, err := r.Rescue(out)
	return out[:n], err
}

func (l *loop) dispatchAll(got []reactor.Completion) {
	l.t.Helper()
	for i := range got {
		l.dispatch(&got[i])
	}
}

// away is an owner that does nothing.
func away(*atomic.Bool) {}

// rescueUntil rescues until the completions make a condition true. The owner does not poll: it
// waits for the rescuer, or computes.
func (l *loop) rescueUntil(what string, owner func(over *atomic.Bool), done func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience.Limit); !done(); {
		var over atomic.Bool
		var got []reactor.Completion
		rescued := inBackground(func() (err error) {
			defer over.Store(true)
			for len(got) == 0 && err == nil && time.Now().Before(deadline) {
				got, err = rescue(l.r, len(l.out))
			}
			return err
		})
		owner(&over)
		require.NoError(l.t, <-rescued)
		if len(got) == 0 {
			l.t.Fatalf("rescued in vain: %s\n%s", what, l.dump())
		}
		l.dispatchAll(got)
		if l.faulty && l.rearmed { // a rescuer cannot submit it
			l.flush()
		}
	}
}

func testRescued(t *testing.T, b Backend, owner func(over *atomic.Bool)) {
	l := newLoop(t, b, small)
	fd, to := listenSocket(t, "tcp")
	at := l.add(fd)
	at.accept()
	e, peer := l.pair("tcp")
	shrink(t, e.fd)
	e.recv()
	e.send(text(20, 2<<20))
	l.settle()
	for i := range 10 {
		l.flush() // so that operations that ended are armed again
		write(t, peer, "x")
		l.rescueUntil("data", owner, func() bool { return len(e.data) == i+1 })
		l.flush()
		require.NoError(t, dialMany(to, 1))
		l.rescueUntil("a connection", owner, func() bool { return len(at.conns) == i+1 })
	}
	l.flush()
	require.NoError(t, peer.Close()) // with many unread bytes: a reset
	l.rescueUntil("the ends", owner, func() bool { return !e.inFlight() })
	for _, conn := range at.conns {
		l.add(conn).close()
	}
}

func testRescueBlocked(t *testing.T, b Backend) { testRescued(t, b, func(*atomic.Bool) {}) }

func testRescueSpinning(t *testing.T, b Backend) {
	testRescued(t, b, func(over *atomic.Bool) {
		for !over.Load() {
			continue
		}
	})
}

func testRescueNothing(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	require.Empty(t, l.rescue(), "before the first Poll")
	e, peer := l.pair("tcp")
	e.recv()
	for range 10 {
		l.idle()
		require.Empty(t, l.rescue())
	}
	write(t, peer, "hello")
	l.until("data", func() bool { return string(e.data) == "hello" })
	require.Empty(t, l.rescue())
	l.idle()
}

func testRescueWake(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	l.idle() // afterwards all operations are armed
	for i := range 50 {
		require.NoError(t, <-inBackground(l.r.Wake))
		enterKernel(t)
		require.Empty(t, l.rescue())
		if i%2 == 0 {
			require.Empty(t, l.rescue())
			require.NoError(t, <-inBackground(l.r.Wake))
		}
		l.returns("a wake")
	}
	l.idle()
}

func testRescueHold(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	watchdog := time.AfterFunc(patience.Limit, func() { panic("reactortest: a hold does not end") })
	defer watchdog.Stop()
	for range 50 {
		require.Zero(t, l.poll(time.Microsecond, true))
		enterKernel(t)
		require.Empty(t, l.rescue())
		require.Zero(t, l.poll(shortHold, true))
	}
}

func testRescueOrder(t *testing.T, b Backend) {
	l := newLoop(t, b, scarce)
	ends, peers := l.pairs("tcp", 3)
	want := text(21, 1<<20)
	var written []<-chan error
	for i, e := range ends {
		e.recv()
		written = append(written, inBackground(func() error { _, err := peers[i].Write(want); return err }))
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for deadline := time.Now().Add(patience.Limit); received(ends) < len(ends)*len(want); {
		require.True(t, time.Now().Before(deadline), "%s", l.dump())
		if rnd.IntN(2) == 0 {
			l.dispatchAll(l.rescue())
		} else {
			l.poll(0, false)
		}
	}
	for i, e := range ends {
		require.NoError(t, <-written[i])
		requireSame(t, want, e.data)
	}
}

func testRescueSmallOut(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 64, Buffers: 64, BufferSize: 4096})
	ends, peers := l.pairs("tcp", 20)
	for _, e := range ends {
		e.recv()
	}
	l.settle()
	l.out = make([]reactor.Completion, 3)
	for i, c := range peers {
		write(t, c, string(text(uint64(i), 100)))
		finish(t, c)
	}
	l.rescueUntil("all data", away, func() bool { return received(ends) == 20*100 })
	l.until("all ends", func() bool { return !flying(ends, reactor.Recv) })
	for i, e := range ends {
		requireSame(t, text(uint64(i), 100), e.data)
		require.True(t, e.eof())
	}
}

// The rescuer takes completions whenever it can. The owner dispatches them before the completions
// that it takes later, because order matters.
func testRescueSubmit(t *testing.T, b Backend) {
	l := newLoop(t, b, tiny)
	const width, size = 40, 16 << 10
	ends, peers := l.pairs(local, width)
	var taker sync.Mutex
	var caught []reactor.Completion // guarded by taker
	var quit atomic.Bool
	rescuer := inBackground(func() error {
		for !quit.Load() {
			taker.Lock()
			got, err := rescue(l.r, 7)
			caught = append(caught, got...)
			taker.Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	})
	stop := sync.OnceFunc(func() { quit.Store(true); require.NoError(t, <-rescuer) })
	defer stop() // before the reactor is closed

	echoes := make([]<-chan error, width)
	for i, c := range peers {
		want := text(uint64(i), size)
		echoes[i] = inBackground(func() error { _, err := c.Write(want); return err })
		ends[i].recv()
	}
	sends := make([]int, width)
	for deadline := time.Now().Add(patience.Limit); received(ends) < width*size || flying(ends, reactor.Send); {
		require.True(t, time.Now().Before(deadline), "%s", l.dump())
		taker.Lock()
		got := caught
		caught = nil
		out := make([]reactor.Completion, 7)
		n, err := l.r.Poll(out, 0, false)
		taker.Unlock()
		require.NoError(t, err)
		l.dispatchAll(append(got, out[:n]...))
		for i, e := range ends {
			if !e.flying[reactor.Send] && sends[i] < 20 {
				sends[i]++
				e.send([]byte("y"))
			}
		}
	}
	stop()
	taker.Lock()
	l.dispatchAll(caught)
	taker.Unlock()
	for i, e := range ends {
		require.NoError(t, <-echoes[i])
		requireSame(t, text(uint64(i), size), e.data)
	}
}

func testRescueStarved(t *testing.T, b Backend) {
	l, ends, want := starved(t, b, 8)
	for _, e := range ends {
		e.release(len(e.kept))
	}
	l.dispatchAll(l.rescue()) // takes the buffers back, but the owner has to receive into them
	l.feed(ends, want)
}
