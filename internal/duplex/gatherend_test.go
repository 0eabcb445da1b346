package duplex_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/sched"
)

var errTaken = errors.New("taken")

// ends are the calls that end writing in order, and how they can be seen.
var ends = []struct {
	name string
	call func(d *duplex.Duplex) error
	seen func(d *duplex.Duplex) bool
	asks string
}{
	{"Close", (*duplex.Duplex).Close, func(d *duplex.Duplex) bool { return d.State().Closed }, "close"},
	{"CloseWrite", (*duplex.Duplex).CloseWrite, func(d *duplex.Duplex) bool { return d.State().WriteClosed }, "close write"},
	{"Claim", func(d *duplex.Duplex) error { return d.Claim(errTaken) }, func(d *duplex.Duplex) bool {
		return d.CloseRead() == errTaken
	}, ""},
	{"Surrender", func(d *duplex.Duplex) error {
		if !d.Surrender(func() bool { return true }) {
			return errors.New("not surrendered")
		}
		return nil
	}, (*duplex.Duplex).Surrendered, ""},
}

// sends makes the line's next Put call during, once.
func (l *line) sends(during func()) {
	l.during = func() {
		l.during = nil
		during()
	}
}

func TestTheEndOfWritingIsSeenBehindGatheredBytes(t *testing.T) {
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			rt := runtimeOf(t)
			d, l := opened(100)
			early, asked := true, ""
			l.sends(func() { early, asked = end.name != "Claim" && end.seen(d), l.wants() })
			_, err := start(t, rt, func(cx *sched.Context) (int, error) {
				return 0, errors.Join(writes(cx, d), end.call(d))
			}).result()
			require.NoError(t, err)
			require.False(t, early)
			require.Empty(t, asked)
			require.Equal(t, "abc", l.took())
			require.True(t, end.seen(d))
			require.Equal(t, end.asks, l.wants())
			d.Ended(nil)
		})
	}
}

// Another task is within the Put of the gathered bytes. The call waits for that.
func TestTheEndOfWritingWaitsForBytesThatAreBeingSent(t *testing.T) {
	for _, end := range ends {
		if end.name == "Claim" { // seen would end reading
			continue
		}
		t.Run(end.name, func(t *testing.T) {
			rt := runtimeOf(t)
			d, l := opened(100)
			ended := make(chan error, 1)
			early, asked := false, ""
			l.sends(func() {
				begun := make(chan struct{})
				go func() {
					close(begun)
					ended <- end.call(d)
				}()
				<-begun
				for range 200 {
					early = early || end.seen(d) || len(ended) > 0
					runtime.Gosched()
				}
				asked = l.wants()
			})
			_, err := start(t, rt, func(cx *sched.Context) (int, error) { return 0, writes(cx, d) }).result()
			require.NoError(t, err)
			require.NoError(t, <-ended)
			require.False(t, early)
			require.Empty(t, asked)
			require.Equal(t, "abc", l.took())
			require.Equal(t, end.asks, l.wants())
			d.Ended(nil)
		})
	}
}

// CloseWrite is within the Put of the gathered bytes when Close is called.
func TestACloseDoesNotOvertakeACloseWrite(t *testing.T) {
	rt := runtimeOf(t)
	d, l := opened(100)
	closed := make(chan error, 1)
	l.sends(func() {
		begun := make(chan struct{})
		go func() {
			close(begun)
			closed <- d.Close()
		}()
		<-begun
		for i := 0; i < 200 && len(closed) == 0; i++ {
			runtime.Gosched()
		}
	})
	_, err := start(t, rt, func(cx *sched.Context) (int, error) {
		err := writes(cx, d)
		if werr := d.CloseWrite(); !errors.Is(werr, net.ErrClosed) { // it may lose to the Close
			err = errors.Join(err, werr)
		}
		return 0, err
	}).result()
	require.NoError(t, errors.Join(err, <-closed))
	require.Equal(t, "abc", l.atClose())
	d.Ended(nil)
}

// A task goes on to write when the flush ends for which a Claim waits. A write that succeeds is on
// the Line once Claim has returned.
func TestAClaimLeavesNoGatheredBytes(t *testing.T) {
	rt := runtimeOf(t)
	for range 300 {
		d, l := opened(100)
		var goOn, flushed, over atomic.Bool
		in, claimed := make(chan struct{}), make(chan error, 1)
		l.sends(func() {
			close(in)
			for !goOn.Load() {
				runtime.Gosched()
			}
		})
		var lost bool
		_, err := start(t, rt, func(cx *sched.Context) (int, error) {
			if err := writes(cx, d); err != nil {
				return 0, err
			}
			go func() { _ = d.Flush(); flushed.Store(true) }()
			<-in
			go func() { claimed <- d.Claim(errTaken); over.Store(true) }()
			for range 50 {
				runtime.Gosched()
			}
			goOn.Store(true)
			for !flushed.Load() {
				runtime.Gosched()
			}
			_, werr := d.WriteIn(cx, []byte("x"))
			for !over.Load() { // a wait would send the byte
				runtime.Gosched()
			}
			lost = werr == nil && !strings.Contains(l.took(), "x")
			return 0, nil
		}).result()
		require.NoError(t, errors.Join(err, <-claimed))
		require.False(t, lost)
		d.Ended(nil)
	}
}

func TestNothingIsGatheredAfterEndGathering(t *testing.T) {
	rt := runtimeOf(t)
	d, l := opened(100)
	var took []string
	_, err := start(t, rt, func(cx *sched.Context) (int, error) {
		err := writes(cx, d)
		took = append(took, l.took())
		d.EndGathering()
		took = append(took, l.took())
		err = errors.Join(err, writes(cx, d))
		took = append(took, l.took())
		return 0, err
	}).result()
	require.NoError(t, err)
	require.Equal(t, []string{"", "abc", "abcabc"}, took)
	d.Ended(nil)
}

func TestFlushReportsGatheredBytesThatWereDropped(t *testing.T) {
	for name, c := range map[string]struct {
		drop func(d *duplex.Duplex) error
		want error
	}{
		"a failure": {func(d *duplex.Duplex) error { d.Ended(syscall.ECONNRESET); return nil }, syscall.ECONNRESET},
		"an end":    {func(d *duplex.Duplex) error { d.Ended(nil); return nil }, syscall.EPIPE},
		"a reset":   {func(d *duplex.Duplex) error { return errors.Join(d.Reset(true), d.Close()) }, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			rt := runtimeOf(t)
			d, l := opened(100)
			_, err := start(t, rt, func(cx *sched.Context) (int, error) {
				if err := errors.Join(writes(cx, d), c.drop(d)); err != nil {
					return 0, errors.New("not dropped")
				}
				return 0, d.Flush()
			}).result()
			require.ErrorIs(t, err, c.want)
			require.Empty(t, l.took())
			d.Ended(nil)
		})
	}
}

// The call whose bytes are refused returns the error, and has its effect nevertheless. Later calls
// do not repeat it.
func TestTheEndOfWritingReportsRefusedBytes(t *testing.T) {
	for _, end := range ends[:2] {
		t.Run(end.name, func(t *testing.T) {
			rt := runtimeOf(t)
			refused := errors.New("refused")
			d, l := opened(100)
			l.failed = refused
			var ended, again error
			_, err := start(t, rt, func(cx *sched.Context) (int, error) {
				err := writes(cx, d)
				ended, again = end.call(d), d.CloseWrite()
				return 0, err
			}).result()
			require.NoError(t, err)
			require.Equal(t, refused, ended)
			require.NotEqual(t, refused, again)
			require.Equal(t, end.asks, l.wants())
			require.Equal(t, refused, d.Flush())
			d.Ended(nil)
		})
	}
}

// A write that is ended while it waits for room does not make later writes gather beyond the room.
func TestWritesThatFindNoRoomQueueNoMoreAndMore(t *testing.T) {
	rt := runtimeOf(t)
	d, l := opened(1)
	_, err := start(t, rt, func(cx *sched.Context) (int, error) { return 0, writes(cx, d) }).result()
	require.NoError(t, err)
	for range 3 {
		w := start(t, rt, func(cx *sched.Context) (int, error) { return d.WriteIn(cx, letters) })
		eventually(t, func() bool { return d.Stats().AwaitsRoom || len(l.took()) > 3 })
		require.NoError(t, d.SetDeadlines(time.Unix(1, 0), false, true))
		_, err := w.result()
		require.Error(t, err)
		require.NoError(t, d.SetDeadlines(time.Time{}, false, true))
	}
	l.mu.Lock()
	require.Equal(t, 2, l.beyond)
	l.room = 100
	l.mu.Unlock()
	var calls []int
	_, err = start(t, rt, func(cx *sched.Context) (int, error) {
		err := writes(cx, d) // the first one finds room, so the others are gathered
		calls = append(calls, l.calls())
		return 0, err
	}).result()
	require.NoError(t, err)
	require.Equal(t, l.calls()-1, calls[0])
	require.Equal(t, "abcabc", l.took())
	d.Ended(nil)
}
