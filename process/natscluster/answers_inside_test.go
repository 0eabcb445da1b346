package natscluster

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A lease is an answer that somebody must give back. Its copies at other nodes have its ID.
type lease struct {
	ID   int
	Text string
}

var (
	releasesMu sync.Mutex
	releases   = map[int]int{} // by ID
)

func (l lease) Release() {
	releasesMu.Lock()
	defer releasesMu.Unlock()
	releases[l.ID]++
}

func released(id int) int {
	releasesMu.Lock()
	defer releasesMu.Unlock()
	return releases[id]
}

// An answer to a call of another node that nobody waits for any more is released once: the value or
// its copy.
func TestALateAnswerToAnotherNodeIsReleased(t *testing.T) {
	clear(releases)
	near := alone(t, func(cfg *Config) { RegisterCall[int, lease](cfg.Types, "lease") })
	far := alone(t, func(cfg *Config) { cfg.URL, cfg.Types = near.URL(), near.cfg.Types })
	requests := make(chan *process.Request[int, lease], 1)
	ref, err := process.Go(far.sys, process.Options{}, func(cx *sched.Context, self *process.Inbox[*process.Request[int, lease]]) error {
		for {
			q, err := self.Receive(cx)
			if err != nil {
				return err
			}
			requests <- q
		}
	})
	require.NoError(t, err)
	ask := func() (q *process.Request[int, lease], result <-chan error, cancel context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := process.Call[int, lease](ctx, near.sys, ref.PID(), 1)
			ended <- err
		}()
		return <-requests, ended, cancel
	}

	q, result, cancel := ask() // in time
	q.Reply(lease{ID: 1})
	require.NoError(t, <-result)
	cancel()
	require.Zero(t, released(1))

	q, result, cancel = ask() // after the node has learned that nobody waits
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
	require.Eventually(t, func() bool {
		for _, p := range far.all() {
			p.mu.Lock()
			serving := len(p.serving)
			p.mu.Unlock()
			if serving > 0 {
				return false
			}
		}
		return true
	}, patience.Limit, time.Millisecond)
	q.Reply(lease{ID: 2})
	q.Reply(lease{ID: 2})
	require.Equal(t, 1, released(2))

	q, result, cancel = ask() // before it has: the answer is on its way
	near.callsMu.Lock()
	for id, waits := range near.calls {
		delete(near.calls, id)
		delete(near.requests, waits.request)
	}
	near.callsMu.Unlock()
	q.Reply(lease{ID: 3})
	require.Eventually(t, func() bool { return released(3) == 1 }, patience.Limit, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)

	q, result, cancel = ask() // one that cannot be sent
	q.Reply(lease{4, strings.Repeat("x", 2<<20)})
	require.ErrorIs(t, <-result, ErrTooLarge)
	cancel()
	require.Equal(t, 1, released(4))

	require.NoError(t, far.Flush(t.Context()))
	for id, want := range map[int]int{1: 0, 2: 1, 3: 1, 4: 1} {
		require.Equal(t, want, released(id), "%d", id)
	}
}
