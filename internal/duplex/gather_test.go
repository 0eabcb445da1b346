package duplex_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/sched"
)

// calls is how many calls of Put the line has had.
func (l *line) calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.puts
}

var letters = []byte("abc")

// writes are three small ones.
func writes(cx *sched.Context, d *duplex.Duplex) error {
	for i := range letters {
		if n, err := d.WriteIn(cx, letters[i:i+1]); n != 1 || err != nil {
			return errors.Join(err, errors.New("not written"))
		}
	}
	return nil
}

func TestSmallWritesLeaveAsOneWhenTheirFunctionWaits(t *testing.T) {
	rt := runtimeOf(t)
	d, l := opened(100)
	var calls []int
	_, err := start(t, rt, func(cx *sched.Context) (n int, err error) {
		for range 3 {
			err = errors.Join(err, writes(cx, d))
			calls = append(calls, l.calls())
			_, yielded := sched.Await(cx, sched.Yield())
			err = errors.Join(err, yielded)
			calls = append(calls, l.calls())
		}
		return 0, err
	}).result()
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 1, 2, 2, 3}, calls)
	require.Equal(t, "abcabcabc", l.took())
	d.Ended(nil)
}

// However the function ends, and whatever else ends the wait of its bytes, they leave once and in
// order.
func TestGatheredBytesLeaveInAnyCase(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(cx *sched.Context, d *duplex.Duplex) error
		want string
	}{
		{"return", func(*sched.Context, *duplex.Duplex) error { return nil }, "abc"},
		{"panic", func(*sched.Context, *duplex.Duplex) error { panic("at the end") }, "abc"},
		{"Goexit", func(*sched.Context, *duplex.Duplex) error { runtime.Goexit(); return nil }, "abc"},
		{"Flush", func(_ *sched.Context, d *duplex.Duplex) error { return d.Flush() }, "abc"},
		{"Close", func(_ *sched.Context, d *duplex.Duplex) error { return d.Close() }, "abc"},
		{"CloseWrite", func(_ *sched.Context, d *duplex.Duplex) error { return d.CloseWrite() }, "abc"},
		{"BlockInPlace", func(cx *sched.Context, _ *duplex.Duplex) error { cx.BlockInPlace(func() {}); return nil }, "abc"},
		{"a large write", func(cx *sched.Context, d *duplex.Duplex) error {
			_, err := d.WriteIn(cx, []byte(strings.Repeat("d", 20<<10)))
			return err
		}, "abc" + strings.Repeat("d", 20<<10)},
		{"many small ones", func(cx *sched.Context, d *duplex.Duplex) (err error) {
			for range 20 << 10 {
				_, werr := d.WriteIn(cx, []byte("d"))
				err = errors.Join(err, werr)
			}
			return err
		}, "abc" + strings.Repeat("d", 20<<10)},
		{"a write without a wait", func(_ *sched.Context, d *duplex.Duplex) error {
			_, err, _ := d.TryWrite([]byte("d"))
			return err
		}, "abcd"},
		{"a goroutine's write", func(cx *sched.Context, d *duplex.Duplex) error {
			failed := make(chan error, 1)
			go func() {
				_, err := d.Write([]byte("d"))
				failed <- err
			}()
			return <-failed
		}, "abcd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt := runtimeOf(t)
			d, l := opened(1 << 20)
			_, err := start(t, rt, func(cx *sched.Context) (int, error) {
				if err := writes(cx, d); err != nil {
					return 0, err
				}
				return 0, c.do(cx, d)
			}).result()
			var panicked *sched.PanicError
			if err != nil && !errors.As(err, &panicked) {
				require.ErrorIs(t, err, sched.ErrGoexit)
			}
			require.Equal(t, c.want, l.took())
			d.Ended(nil)
		})
	}
}

func TestAResetDropsGatheredBytes(t *testing.T) {
	rt := runtimeOf(t)
	d, l := opened(100)
	_, err := start(t, rt, func(cx *sched.Context) (int, error) {
		return 0, errors.Join(writes(cx, d), d.Reset(true), d.Close())
	}).result()
	require.NoError(t, err)
	require.Empty(t, l.took())
	require.Equal(t, "reset", l.wants())
}

// Gathered bytes that find no room are queued all the same, but the next write waits for room.
func TestAWriteWaitsWhenGatheredBytesFoundNoRoom(t *testing.T) {
	rt := runtimeOf(t)
	d, l := opened(1)
	w := start(t, rt, func(cx *sched.Context) (int, error) {
		err := writes(cx, d)
		_, yielded := sched.Await(cx, sched.Yield())
		n, werr := d.WriteIn(cx, []byte("d"))
		return n, errors.Join(err, yielded, werr)
	})
	eventually(t, func() bool { return d.Stats().AwaitsRoom })
	require.Equal(t, "abc", l.took())
	require.Equal(t, 2, l.beyond)
	l.mu.Lock()
	l.room = 100
	l.mu.Unlock()
	d.MadeRoom()
	n, err := w.result()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "abcd", l.took())
	d.Ended(nil)
}

func TestTheErrorOfGatheredBytesIsThatOfTheNextCall(t *testing.T) {
	rt := runtimeOf(t)
	failed := errors.New("refused")
	d, l := opened(100)
	l.failed = failed
	_, err := start(t, rt, func(cx *sched.Context) (int, error) {
		if err := writes(cx, d); err != nil {
			return 0, err
		}
		if err := d.Flush(); err != failed {
			return 0, errors.Join(err, errors.New("Flush returned no error"))
		}
		return d.WriteIn(cx, []byte("d"))
	}).result()
	require.Equal(t, failed, err)
	d.Ended(nil)
}

// One task writes and waits. Another one closes the Duplex once it knows of the write.
func TestACloseComesBehindGatheredBytes(t *testing.T) {
	rt := runtimeOf(t)
	for range 2000 {
		d, l := opened(100)
		written := make(chan struct{})
		w := start(t, rt, func(cx *sched.Context) (int, error) {
			err := writes(cx, d)
			close(written)
			_, yielded := sched.Await(cx, sched.Yield())
			return 0, errors.Join(err, yielded)
		})
		<-written
		require.NoError(t, d.Close())
		_, err := w.result()
		require.NoError(t, err)
		require.Equal(t, "abc", l.atClose())
		require.ErrorIs(t, d.Close(), net.ErrClosed)
		d.Ended(nil)
	}
}

func TestGatheringAllocatesNothing(t *testing.T) {
	rt := runtimeOf(t)
	d, l := opened(1 << 30)
	var allocs float64
	_, err := start(t, rt, func(cx *sched.Context) (int, error) {
		var failed error
		round := func() {
			failed = errors.Join(failed, writes(cx, d), d.Flush())
			l.mu.Lock()
			l.got = l.got[:0]
			l.mu.Unlock()
		}
		allocs = testing.AllocsPerRun(1000, round)
		return 0, failed
	}).result()
	require.NoError(t, err)
	require.Less(t, allocs, 1.0)
	d.Ended(nil)
}
