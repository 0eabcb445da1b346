package reactortest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var waking = []behavior{
	{"a wake before the wait ends it", testWakeBefore},
	{"a wake before a batch of operations ends the wait after it", testWakeThenSubmit},
	{"a wake ends a wait", testWakeDuring},
	{"a wake ends a wait that has no end of its own", testWakeForever},
	{"many wakes are one", testWakesCoalesce},
	{"no wake of many goroutines is lost", testWakeStress},
	{"a wake after Close does nothing", testWakeClosed},
	{"a wake during Close never touches another descriptor", testWakeClosing},
}

// returns polls once and fails if only the time-out ended the Poll, whatever its result.
func (l *loop) returns(what string) {
	l.t.Helper()
	start := time.Now()
	l.poll(patience.Limit, false)
	if time.Since(start) >= patience.Limit {
		l.t.Fatalf("%s did not end the wait\n%s", what, l.dump())
	}
}

// enterKernel makes system calls that do not concern the reactor, as a handler would. A wake that
// has arrived by now may show in them.
func enterKernel(t *testing.T) {
	t.Helper()
	descriptors(t)
}

func testWakeBefore(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for range 20 {
		woken := inBackground(l.r.Wake)
		require.NoError(t, <-woken)
		enterKernel(t)
		l.returns("a wake from before")
	}
	require.NoError(t, l.r.Wake()) // the owner's own
	l.returns("the owner's wake")
	l.idle()
}

func testWakeThenSubmit(t *testing.T, b Backend) {
	l := newLoop(t, b, reactor.Config{Entries: 4, Buffers: 4, BufferSize: 4096})
	e, _ := l.pair("tcp")
	for range 20 {
		require.NoError(t, <-inBackground(l.r.Wake))
		for range 100 {
			e.cancel(reactor.Recv)
		}
		l.returns("a wake from before")
	}
	l.idle()
}

func testWakeDuring(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for range 500 {
		woken := inBackground(l.r.Wake)
		l.returns("a wake")
		require.NoError(t, <-woken)
		l.poll(0, false) // if another event ended Poll, the wake is still pending
	}
	l.idle()
}

func testWakeForever(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	var rounds atomic.Int32
	quit := make(chan struct{})
	woken := inBackground(func() error {
		for n := int32(0); ; {
			select {
			case <-quit:
				return nil
			default:
				if now := rounds.Load(); now != n { // one wake for each wait
					n = now
					if err := l.r.Wake(); err != nil {
						return err
					}
				}
			}
		}
	})
	watchdog := time.AfterFunc(patience.Limit, func() { panic("reactortest: a wake did not end an endless wait") })
	for range 200 {
		rounds.Add(1)
		l.poll(-1, false)
	}
	watchdog.Stop()
	close(quit)
	require.NoError(t, <-woken)
}

func testWakesCoalesce(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for range 1000 {
		require.NoError(t, l.r.Wake())
	}
	l.returns("a thousand wakes")
	l.idle() // after far fewer than a thousand waits
	require.NoError(t, l.r.Wake())
	l.returns("a wake after a thousand")
}

// Each goroutine waits for the answer to its wake before the next one, so that a lost wake stops
// the test.
func testWakeStress(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	const wakers, rounds = 4, 200
	var asked, answered [wakers]atomic.Int32
	var group sync.WaitGroup
	var quit atomic.Bool
	for w := range wakers {
		group.Go(func() {
			for i := int32(1); i <= rounds && !quit.Load(); i++ {
				asked[w].Store(i)
				_ = l.r.Wake() // a failure also stops the test
				for answered[w].Load() < i && !quit.Load() {
					time.Sleep(time.Microsecond) // leaves the processor to the loop
				}
			}
		})
	}
	defer group.Wait()
	defer quit.Store(true)
	defer func() {
		if t.Failed() {
			for w := range wakers { // how far it came tells a lost wake from a slow machine
				t.Logf("waker %d: %d asked, %d answered, of %d", w, asked[w].Load(), answered[w].Load(), rounds)
			}
		}
	}()
	l.until("every wake", func() bool {
		all := true
		for w := range wakers {
			n := asked[w].Load()
			answered[w].Store(n)
			all = all && n == rounds
		}
		return all
	})
}

func testWakeClosed(t *testing.T, b Backend) {
	for range 5 {
		l := newLoop(t, b, small)
		l.idle() // afterwards all operations are armed
		r := l.r
		l.close()
		sprung := traps(t, 10) // at the numbers just freed
		require.NoError(t, r.Wake())
		require.NoError(t, r.Wake())
		require.False(t, sprung(), "a wake wrote to a stranger's descriptor")
	}
}

func testWakeClosing(t *testing.T, b Backend) {
	for range 15 {
		l := newLoop(t, b, small)
		r := l.r
		var group sync.WaitGroup
		var quit atomic.Bool
		for range 3 {
			group.Go(func() {
				for !quit.Load() {
					if err := r.Wake(); err != nil {
						t.Errorf("wake: %v", err)
						return
					}
				}
			})
		}
		l.returns("a wake")
		l.close()
		sprung := traps(t, 6)
		require.NoError(t, r.Wake())
		quit.Store(true)
		group.Wait()
		require.False(t, sprung(), "a wake wrote to a stranger's descriptor")
	}
}
