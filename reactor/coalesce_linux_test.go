//go:build !kqueue

package reactor

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A napFunc is what a test has happen while an owner sleeps.
type napFunc func()

func (f napFunc) nap(time.Duration, bool) { f() }

// A coalescing is an epoll reactor that lets what comes gather, in naps of the test's, and some connections of it.
type coalescing struct {
	*readiness
	t     *testing.T
	pairs [][2]int
	out   []Completion
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
	c.coalesce.napper = napFunc(func() { nap(c) })
	for i := range conns {
		c.pairs = append(c.pairs, pairOf(t))
		require.NoError(t, c.Submit(&Op{Kind: Recv, FD: c.pairs[i][0], Token: MakeToken(uint32(i+1), 1)}))
	}
	for { // what there is to be said of new descriptors
		if n, err := c.poller.wait(0, false); n == 0 || err != 0 {
			return c
		}
	}
}

// say has the peers of so many connections send something.
func (c *coalescing) say(conns int) {
	for i := range conns {
		_, err := unix.Write(c.pairs[i][1], []byte("x"))
		require.NoError(c.t, err)
	}
}

// hear is how many completions come together.
func (c *coalescing) hear() (n int) {
	for n == 0 {
		n = c.poll(time.Minute)
	}
	return n
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

func TestWhatComesDuringANapIsToldAtOnce(t *testing.T) {
	naps := 0
	c := newCoalescing(t, 8, func(c *coalescing) { naps++; c.say(8) })
	for i := range 10 {
		require.Equal(t, 8, c.hear())
		require.Equal(t, i+1, naps)
	}
}

func TestWhatIsThereIsNotKeptWaitingByANap(t *testing.T) {
	c := newCoalescing(t, 8, func(*coalescing) { t.Error("it sleeps") })
	for range 10 {
		c.say(8)
		require.Equal(t, 8, c.hear())
	}
	for range 5 {
		require.Zero(t, c.poll(time.Millisecond), "a wait that is no longer than a nap")
		require.Zero(t, c.poll(0))
	}
}

// Who talks alone waits for a nap once in a while, and that ever less often.
func TestALoneTalkerSeldomWaitsForANap(t *testing.T) {
	naps, talkers := 0, 1
	c := newCoalescing(t, 8, func(c *coalescing) { naps++; c.say(talkers) })
	asked := make(chan int)
	var others sync.WaitGroup
	t.Cleanup(func() { close(asked); others.Wait() })
	others.Go(func() {
		for n := range asked {
			c.say(n)
		}
	})
	waits := 0
	turn := func() { // they say something as soon as somebody waits for it: in the nap, if there is one, or else beside the wait
		before := naps
		if c.coalesce.rest > 0 {
			asked <- talkers
		}
		for got := 0; got < talkers; waits++ {
			got += c.hear()
		}
		require.LessOrEqual(t, naps, before+1)
	}
	for range 4000 {
		turn()
	}
	require.GreaterOrEqual(t, naps, 8)
	require.LessOrEqual(t, naps, 9+waits/mostRest, "waits: %d", waits)

	talkers = 8
	for before := naps; naps == before; {
		turn()
	}
	for before, i := naps, 0; i < 10; i++ {
		turn()
		require.Equal(t, before+i+1, naps, "there is much again")
	}
}

func TestAWakeDuringANapEndsThePoll(t *testing.T) {
	c := newCoalescing(t, 1, func(c *coalescing) { require.NoError(t, c.Wake()) })
	require.Zero(t, c.poll(time.Minute))
}

func TestANapLastsAsLongAsItShould(t *testing.T) {
	lasted := func(hold bool) bool {
		began := time.Now()
		new(epoll).nap(time.Millisecond, hold)
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
