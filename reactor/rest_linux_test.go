package reactor

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Go's poller learns of the events of a reactor that rests, and of no others: each would wake one
// of Go's idle threads.
func TestGoPollerSeesTheEventsOfARestOnly(t *testing.T) {
	r := newTestEpoll(t)
	p := r.poller.(*epoll)
	out := make([]Completion, 4)
	poll := func(wait time.Duration) {
		_, err := r.Poll(out, wait, false)
		require.NoError(t, err)
	}
	seen := func() bool {
		var events [1]unix.EpollEvent
		n, err := unix.EpollWait(p.rest.gate, events[:], 0)
		require.NoError(t, err)
		return n > 0
	}
	for range 3 {
		require.NoError(t, r.Wake())
		poll(-1)
		require.NoError(t, r.Wake())
		require.True(t, seen(), "an owner that rests for each event leaves the gate open")
		for range closeAfter + 1 {
			poll(0)
		}
		require.NoError(t, r.Wake())
		require.False(t, seen(), "the gate is open for an owner that polls")
	}
	require.NoError(t, r.Wake()) // before the gate is open
	poll(-1)
}

func TestARestOfARingLetsNoEventsThroughAfterIt(t *testing.T) {
	r := newRing(t, 1)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out := make([]Completion, 4)
	for range 3 {
		require.NoError(t, r.Wake())
		_, err := r.Poll(out, -1, false)
		require.NoError(t, err)
		require.False(t, r.rest.isOpen)
	}
}

// With several processors a ring's thread waits in the kernel, also if one is all that is left.
func TestARingOfSeveralProcessorsDoesNotRest(t *testing.T) {
	r := newRing(t, 2)
	require.Nil(t, r.rest)
	runtime.GOMAXPROCS(1)
	require.NoError(t, r.Wake())
	_, err := r.Poll(make([]Completion, 4), -1, false)
	require.NoError(t, err)
	require.Nil(t, r.rest)
}

// newRing makes a ring while GOMAXPROCS has that value. It keeps the value until the test ends.
func newRing(t *testing.T, processors int) *uringReactor {
	before := runtime.GOMAXPROCS(processors)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	cfg, err := Select(Config{Backend: "io_uring"}, nil)
	if err != nil {
		t.Skipf("io_uring cannot start here: %v", err)
	}
	r, err := Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r.(*uringReactor)
}
