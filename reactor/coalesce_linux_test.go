//go:build !kqueue

package reactor

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A napFunc is what a test has happen while an owner sleeps for so long.
type napFunc func(d time.Duration)

func (f napFunc) nap(d time.Duration, _ bool) { f(d) }

// A coalescing is an epoll reactor that coalesces events, with the test's own naps, and some
// connections of it.
type coalescing struct {
	*readiness
	t     *testing.T
	pairs [][2]int
	out   []Completion
	naps  int
}

func newCoalescing(t *testing.T, conns int, nap func(c *coalescing)) *coalescing {
	cfg, err := Config{Backend: "epoll", Coalesce: time.Millisecond}.withDefaults()
	require.NoError(t, err)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r, err := openEpoll(&cfg)
	require.NoError(t, err)
	c := &coalescing{readiness: r.(*readiness), t: t, out: make([]Completion, 2*conns)}
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NotNil(t, c.coalesce.napper)
	c.coalesce.napper = napFunc(func(time.Duration) { c.naps++; nap(c) })
	for i := range conns {
		c.pairs = append(c.pairs, pairOf(t))
		require.NoError(t, c.Submit(&Op{Kind: Recv, FD: c.pairs[i][0], Token: MakeToken(uint32(i+1), 1)}))
	}
	c.settle()
	return c
}

// settle polls until the reactor finds nothing more, so that the next Poll waits.
func (c *coalescing) settle() {
	for range 3 {
		require.Zero(c.t, c.poll(0))
	}
}

// say has the peers of so many connections send something.
func (c *coalescing) say(conns int) {
	for i := range conns {
		_, err := unix.Write(c.pairs[i][1], []byte("x"))
		require.NoError(c.t, err)
	}
}

// poll is how many completions one Poll has.
func (c *coalescing) poll(wait time.Duration) int {
	n, err := c.Poll(c.out, wait, true)
	require.NoError(c.t, err)
	for _, e := range c.out[:n] {
		require.Equal(c.t, 1, e.Res)
		c.Release(e.Buf)
	}
	return n
}

// hear is how many completions come together. A signal may end a Poll.
func (c *coalescing) hear() (n int) {
	for n == 0 {
		n = c.poll(-1)
	}
	c.settle()
	return n
}

func TestWhatComesDuringANapIsToldAtOnce(t *testing.T) {
	c := newCoalescing(t, 8, func(c *coalescing) { c.say(8) })
	for i := range 10 {
		require.Equal(t, 8, c.hear())
		require.Equal(t, i+1, c.naps)
	}
}

func TestWhatIsThereIsNotKeptWaitingByANap(t *testing.T) {
	c := newCoalescing(t, 8, func(*coalescing) { t.Error("it sleeps") })
	for range 10 {
		c.say(8)
		require.Equal(t, 8, c.hear())
	}
	require.Zero(t, c.poll(0))
}

// A wait is no longer for a nap, and a nap no longer than the wait.
func TestANapIsAPartOfTheWait(t *testing.T) {
	c := newCoalescing(t, 1, func(*coalescing) {})
	waits := &waitsOf{poller: c.poller}
	c.poller = waits
	for _, r := range []struct{ wait, nap, rest time.Duration }{
		{-1, time.Millisecond, -1},
		{time.Minute, time.Millisecond, time.Minute - time.Millisecond},
		{time.Millisecond, time.Millisecond, 0},
		{20 * time.Microsecond, 20 * time.Microsecond, 0},
	} {
		c.coalesce.rest, c.coalesce.rests = 0, 0
		var napped []time.Duration
		c.coalesce.napper = napFunc(func(d time.Duration) { napped = append(napped, d) })
		waits.all = nil
		require.Zero(t, c.poll(r.wait))
		require.Equal(t, []time.Duration{r.nap}, napped)
		require.Equal(t, []time.Duration{0, r.rest}, waits.all)
	}
}

// waitsOf notes for how long a poller is asked to wait, and does not.
type waitsOf struct {
	poller
	all []time.Duration
}

func (w *waitsOf) wait(wait time.Duration, hold bool) (int, syscall.Errno) {
	w.all = append(w.all, wait)
	return w.poller.wait(0, hold)
}

// The only active client waits for a nap now and then, and less and less often.
func TestALoneTalkerSeldomWaitsForANap(t *testing.T) {
	talkers := 1
	c := newCoalescing(t, 8, func(c *coalescing) { c.say(talkers) })
	turn := func() { // with a nap, in which they say something, or without
		before := c.naps
		if c.coalesce.rest > 0 {
			c.say(talkers)
			before--
		}
		require.Equal(t, talkers, c.hear())
		require.Equal(t, before+1, c.naps)
	}
	for range 4000 {
		turn()
	}
	require.Equal(t, 9+(4000-8-(2*mostRest-leastRest))/(mostRest+1), c.naps)

	talkers = 8
	for before := c.naps; c.naps == before; {
		turn()
	}
	for before, i := c.naps, 0; i < 10; i++ {
		turn()
		require.Equal(t, before+i+1, c.naps, "there is much again")
	}
}

func TestAWakeEndsANap(t *testing.T) {
	c := newCoalescing(t, 1, func(c *coalescing) {
		asleep := make(chan struct{})
		go func() {
			<-asleep
			_ = c.Wake()
		}()
		close(asleep)
		c.poller.(*epoll).nap(time.Hour, false)
	})
	require.Zero(t, c.poll(-1))
	require.Equal(t, 1, c.naps)
	require.False(t, c.poller.(*epoll).waker.set.Load(), "it has been heard")
}

func TestANapLastsAsLongAsItShould(t *testing.T) {
	c := newCoalescing(t, 1, func(*coalescing) {})
	c.say(1) // it does not notice that
	lasted := func(hold bool) bool {
		began := time.Now()
		c.poller.(*epoll).nap(time.Millisecond, hold)
		return time.Since(began) >= time.Millisecond
	}
	for _, hold := range []bool{false, true} {
		i := 0
		for ; i < 100 && !lasted(hold); i++ { // a signal ends one
		}
		require.Less(t, i, 100)
	}
}

func TestCoalesceMeansEpoll(t *testing.T) {
	t.Setenv(EnvBackend, "")
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Coalesce: time.Microsecond}, "epoll"},
		{Config{Coalesce: maxCoalesce, Unlocked: true}, "epoll"},
		{Config{Coalesce: maxCoalesce, Backend: "io_uring"}, "io_uring"},
		{Config{}, ""},
	} {
		cfg, err := c.cfg.withDefaults()
		require.NoError(t, err)
		require.Equal(t, c.want, cfg.Backend)
	}
	for _, odd := range []time.Duration{-1, maxCoalesce + 1} {
		_, err := Config{Coalesce: odd}.withDefaults()
		require.ErrorContains(t, err, "Coalesce is "+odd.String()+"; use 0 to 1ms")
	}
}
