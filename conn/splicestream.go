package conn

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/sched"
)

// Splice copies all bytes between two streams, in both directions, until both peers have finished.
// It waits as sched.Await does; a small message does not wake the task. The end of one peer's bytes
// becomes the end of the other's, after everything before it. Bytes that are buffered in either
// Stream go first. there counts the bytes that were copied from s to other, back those from other
// to s. They include bytes that the kernel had not taken when an error occurred.
//
// A stackful task calls it with its own context, or one derived from it, and a goroutine with any
// other. The two Streams may be any: of handlers, dialed or accepted, on any worker and of any
// Group. They need not be bound. Splice waits for a Stream that is still being dialed. Until it
// returns, reads, writes and half-closes of both Streams by others fail with ErrSpliced.
//
// The copy is that of the function Splice, with its bounds and speed: by splice(2) if much flows.
// Bytes of TLS are copied as plaintext. Between two Groups they are copied too.
//
// If idle is positive, Splice ends when nothing was received or acknowledged for that long. It
// replaces Config.IdleTimeout for both connections. If idle is 0, they keep theirs.
//
// # The end
//
// When Splice returns, both Streams are closed. Without an error, both peers had finished, and the
// kernel has taken all bytes. Otherwise the error is the first of these:
//
//   - the error of the connection that failed: the other one is reset when its peer has all bytes
//   - os.ErrDeadlineExceeded, if idle has passed: both are reset in that way
//   - os.ErrDeadlineExceeded, if a deadline of a Stream has passed: both close in order
//   - net.ErrClosed, if a Stream was closed meanwhile: the other one closes in the same way
//   - sched.ErrCanceled, if the task was aborted, or the error of ctx, if that has ended: both are
//     reset
//
// If Splice cannot begin, nothing has changed. Then the error matches net.ErrClosed for a Stream
// that was closed, also in one direction, ErrSpliced, sched.ErrMisuse or sched.ErrBlocksWorker, or
// is that of the connection that has ended.
func (s *Stream) Splice(ctx context.Context, other *Stream, idle time.Duration) (there, back int64, err error) {
	w := splicing{sockets: [2]*Socket{s.Socket(), other.Socket()}}
	begun, err := w.begin(ctx, idle)
	if begun {
		err = w.wait(ctx)
		toOther, toUs := w.spliced.Bytes()
		there, back = int64(toOther), int64(toUs)
	} else if !w.cut {
		return 0, 0, err
	}
	for _, s := range [2]*Stream{s, other} {
		if w.cut {
			s.Abort()
			continue
		}
		if w.failed { // the connection's task may see the close before it makes the call
			s.resetsAtEnd.Store(true)
			(*socketLine)(s.Socket()).do(func(c *core.Conn) { c.CloseByReset(err) })
		}
		_ = s.Close() // another function may have closed it
	}
	return there, back, err
}

// A splicing is the wait of Stream.Splice, as a future: for the end of the splice.
type splicing struct {
	sockets [2]*Socket
	spliced *Spliced
	watches [2]*duplex.Watch
	cut     bool // both connections are to be reset at once
	failed  bool // a connection has failed, or both were idle
}

// begin splices the two, once they are open.
func (w *splicing) begin(ctx context.Context, idle time.Duration) (begun bool, err error) {
	if err := ctxcheck.Refused(ctx); err != nil {
		return false, err
	}
	for _, k := range w.sockets {
		if _, err := sched.Await(ctx, k.duplex.Watch(duplex.Opened)); err != nil {
			w.cut = !errors.Is(err, sched.ErrMisuse)
			return false, err
		}
	}
	a, b := w.sockets[0], w.sockets[1]
	if a == b {
		return false, a.opError("splice", errSpliceItself)
	}
	if err := a.duplex.Claim(core.ErrSpliced); err != nil {
		return false, a.wrap("splice", err)
	}
	if err := b.duplex.Claim(core.ErrSpliced); err != nil {
		a.duplex.Release()
		return false, b.wrap("splice", err)
	}
	w.spliced, err = spliceSockets(a, b, idle)
	if err != nil {
		a.duplex.Release()
		b.duplex.Release()
		return false, a.wrap("splice", err)
	}
	return true, nil
}

// spliceSockets joins the tasks of two connections in a splice. The error is that of the first one,
// which has ended. If the second one has, the first one learns of it.
func spliceSockets(a, b *Socket, idle time.Duration) (*Spliced, error) {
	s := newSpliced(a.conn(), b.conn())
	s.sockets, s.idle = [2]*Socket{a, b}, idle
	if err := s.ends[0].conn.Tell(core.Command{Kind: core.CmdSplice, What: (*joining)(s)}); err != nil {
		return nil, err
	}
	if s.ends[1].conn.Tell(core.Command{Kind: core.CmdSplice, What: (*joining)(s)}) != nil {
		s.mu.Lock()
		s.ends[1].state, s.ends[1].cause = endGone, core.ErrGone
		s.unlock()
		s.ends[0].changed.Store(true)
		s.ends[0].conn.Task.Wake()
	}
	return s, nil
}

// wait waits for the end. An end that the task's abort, or that of ctx, comes with, or after, is
// the result.
func (w *splicing) wait(ctx context.Context) error {
	for i, k := range w.sockets {
		w.watches[i] = k.duplex.Watch(duplex.Over)
	}
	_, canceled := sched.Await(ctx, w)
	w.Cancel()
	over, err := w.outcome()
	if !over {
		w.cut = true
		return canceled
	}
	return err
}

var _ sched.Canceler = (*splicing)(nil)

// Poll implements sched.Future.
func (w *splicing) Poll(cx *sched.Context) (struct{}, error) {
	reported := false
	for _, watch := range w.watches {
		_, err := watch.Poll(cx)
		reported = reported || err == nil
	}
	if reported {
		if over, _ := w.outcome(); over {
			return struct{}{}, nil
		}
	}
	return struct{}{}, sched.ErrPending
}

// Cancel implements sched.Canceler.
func (w *splicing) Cancel() {
	for _, watch := range w.watches {
		watch.Cancel()
	}
}

// outcome reports whether the splice has ended, and how.
func (w *splicing) outcome() (over bool, err error) {
	var states [2]duplex.State
	for i, k := range w.sockets {
		states[i] = k.duplex.State()
	}
	complete := w.spliced.complete() // after the states: an orderly end follows the peers' FINs
	gone, reset := 0, false
	var partner error
	for i, k := range w.sockets {
		st := states[i]
		var other *partnerEnded
		switch {
		case st.Closed:
			err, reset = k.opError("splice", net.ErrClosed), reset || st.Reset
		case errors.As(st.Failed, &other):
			partner = st.Failed
		case st.Failed != nil:
			w.failed = true
			return true, k.wrap("splice", st.Failed)
		case st.Late:
			err = k.opError("splice", os.ErrDeadlineExceeded)
		case st.Gone && !complete:
			err = k.opError("splice", net.ErrClosed)
		case st.Gone:
			gone++
		}
	}
	switch {
	case err != nil:
		w.cut = reset
		return true, err
	case partner != nil:
		w.failed = true
		return true, partner
	}
	return gone == len(w.sockets), nil
}
