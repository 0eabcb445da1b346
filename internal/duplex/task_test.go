package duplex_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/sched"
)

// A doing is a call in a task, and its result.
type doing struct {
	*sched.JoinHandle[int]
	t *testing.T
}

// start begins a call in a task.
func start(t *testing.T, rt *sched.Runtime, call func(cx *sched.Context) (int, error)) doing {
	return doing{sched.Go(rt, call), t}
}

func (d doing) result() (int, error) {
	ctx, cancel := context.WithTimeout(d.t.Context(), patience.Limit)
	defer cancel()
	return d.Wait(ctx)
}

func runtimeOf(t *testing.T) *sched.Runtime {
	rt := sched.New(sched.Config{Workers: 2})
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

func TestATaskReadsWhatArrives(t *testing.T) {
	rt := runtimeOf(t)
	d, _ := opened(0)
	p := make([]byte, 3)
	r := start(t, rt, func(cx *sched.Context) (int, error) { return d.ReadIn(cx, p, nil) })
	eventually(t, func() bool { return d.Stats().AwaitsData })
	d.Arrived(nil, []byte("abcd"))
	n, err := r.result()
	require.NoError(t, err)
	require.Equal(t, "abc", string(p[:n]))
	n, err, ready := d.TryRead(p)
	require.NoError(t, err)
	require.True(t, ready)
	require.Equal(t, "d", string(p[:n]))
	_, err, ready = d.TryRead(p)
	require.NoError(t, err)
	require.False(t, ready)
}

// Bytes that were copied for a task before its abort are its result.
func TestAnAbortedReadLosesNoByte(t *testing.T) {
	rt := runtimeOf(t)
	for range 500 {
		d, _ := opened(0)
		p := make([]byte, 4)
		got := 0
		r := start(t, rt, func(cx *sched.Context) (int, error) {
			n, err := d.ReadIn(cx, p, nil)
			got = n
			return n, err
		})
		eventually(t, func() bool { return d.Stats().AwaitsData })
		aborted := make(chan struct{})
		go func() {
			r.Abort()
			close(aborted)
		}()
		d.Arrived(nil, []byte("abcd"))
		<-aborted
		if _, err := r.result(); err != nil {
			require.ErrorIs(t, err, sched.ErrCanceled)
		}
		require.Equal(t, 4, got+d.Buffered())
		require.False(t, d.Stats().AwaitsData)
		d.Ended(nil)
	}
}

// The turn of a writer that is aborted goes to the next one. The writes are too large to be
// gathered.
func TestAnAbortedWriteGivesItsTurnUp(t *testing.T) {
	firstBytes, secondBytes := strings.Repeat("1", 16<<10), strings.Repeat("2", 16<<10)
	rt := runtimeOf(t)
	for _, waits := range []string{"for its turn", "for room"} {
		t.Run(waits, func(t *testing.T) {
			d, l := opened(0)
			first := start(t, rt, func(cx *sched.Context) (int, error) { return d.WriteIn(cx, []byte(firstBytes)) })
			eventually(t, func() bool { return d.Stats().AwaitsRoom })
			second := start(t, rt, func(cx *sched.Context) (int, error) { return d.WriteIn(cx, []byte(secondBytes)) })
			left, want := first, secondBytes
			if waits == "for its turn" {
				left, want = second, firstBytes
			}
			left.Abort()
			_, err := left.result()
			require.ErrorIs(t, err, sched.ErrCanceled)
			l.mu.Lock()
			l.room = 1 << 20
			l.mu.Unlock()
			d.MadeRoom()
			third := start(t, rt, func(cx *sched.Context) (int, error) { return d.WriteIn(cx, []byte("third")) })
			_, err = third.result()
			require.NoError(t, err)
			other := second
			if want == firstBytes {
				other = first
			}
			_, err = other.result()
			require.NoError(t, err)
			require.ElementsMatch(t, []byte(want+"third"), []byte(l.took()))
			d.Ended(nil)
		})
	}
}

func TestAWatchIsDoneWhenItsEventHolds(t *testing.T) {
	rt := runtimeOf(t)
	for _, e := range []struct {
		name  string
		event duplex.Event
		make  func(d *duplex.Duplex, l *line)
	}{
		{"bytes", duplex.Readable, func(d *duplex.Duplex, _ *line) { d.Arrived(nil, []byte("x")) }},
		{"the peer's end", duplex.Readable, func(d *duplex.Duplex, _ *line) { d.Finished(nil) }},
		{"room", duplex.Writable, func(d *duplex.Duplex, l *line) {
			l.mu.Lock()
			l.room = 1
			l.mu.Unlock()
			d.MadeRoom()
		}},
		{"the end of writing", duplex.Writable, func(d *duplex.Duplex, _ *line) { _ = d.CloseWrite() }},
		{"a drain", duplex.Draining, func(d *duplex.Duplex, _ *line) { d.Drain() }},
		{"a close", duplex.Closed, func(d *duplex.Duplex, _ *line) { _ = d.Close() }},
		{"a reset", duplex.Closed, func(d *duplex.Duplex, _ *line) { d.Ended(net.ErrClosed) }},
	} {
		t.Run(e.name, func(t *testing.T) {
			d, l := opened(0)
			polled := make(chan struct{}, 100)
			w := d.Watch(e.event)
			h := sched.Spawn(rt, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
				defer func() { polled <- struct{}{} }()
				return w.Poll(cx)
			}))
			receive(t, polled)
			require.False(t, h.Done())
			e.make(d, l)
			ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
			defer cancel()
			_, err := h.Wait(ctx)
			require.NoError(t, err)
			d.Ended(nil)
		})
	}
}
