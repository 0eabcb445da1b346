package reactor_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

// The owner moves between threads, waits as goroutines do, and ends in time.
func TestAnUnlockedOwnerWaitsAsAGoroutine(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	r, err := reactor.Open(reactor.Config{Unlocked: true})
	require.NoError(t, err)
	out := make([]reactor.Completion, 16)
	for _, wait := range []time.Duration{0, time.Millisecond} {
		n, err := r.Poll(out, wait, false)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	for range 100 { // each wake ends one wait without a limit
		polled := make(chan error, 1)
		go func() { _, err := r.Poll(out, -1, false); polled <- err }()
		require.NoError(t, r.Wake())
		select {
		case err := <-polled:
			require.NoError(t, err)
		case <-time.After(patience.Limit):
			t.Fatal("a wake was lost")
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		require.NoError(t, r.Submit(&reactor.Op{Kind: reactor.Accept, FD: int(fd), Token: reactor.MakeToken(1, 1)}))
		polled := make(chan int, 1)
		go func() {
			n := 0
			for n == 0 && err == nil {
				n, err = r.Poll(out, -1, false)
			}
			polled <- n
		}()
		c, derr := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, derr)
		defer c.Close()
		select {
		case n := <-polled:
			require.NoError(t, err)
			require.Equal(t, 1, n)
		case <-time.After(patience.Limit):
			t.Fatal("nothing was accepted")
		}
		require.NoError(t, r.Submit(&reactor.Op{Kind: reactor.Close, FD: out[0].Res}))
	}))
	require.NoError(t, r.Close())
}
