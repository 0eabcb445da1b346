package packet

import (
	"time"

	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/sched"
)

// A retry is how a call waits between its attempts. The zero value is ready for use.
type retry struct {
	ready.Wait
	reported bool     // the last attempt was made because the kernel reported the socket as ready
	backoff  *backoff // nil: the call has not waited by a timer yet
}

// A backoff is a wait by a timer. The kernel reports a Unix socket that is not connected as
// writable although the receiver's queue is full. It reports nothing when that queue has room.
type backoff struct {
	rt    *sched.Runtime // the timer's runtime
	sleep sched.SleepFuture
	on    bool          // the timer runs
	pause time.Duration // of the next one
}

// The pauses grow from the first to the longest. So a short queue costs little time, and a long
// wait costs little work.
const (
	firstPause   = time.Millisecond
	longestPause = 32 * time.Millisecond
)

// reset prepares for a new call.
func (r *retry) reset() {
	r.reported, r.Attempt = false, ready.Attempt{}
	if r.backoff != nil {
		r.backoff.pause = 0
	}
}

// resume is called at the start of each poll, as ready.Socket.Resume is. takes: an attempt follows.
func (r *retry) resume(cx *sched.Context, s *caller, d ready.Direction, takes bool) error {
	waited := r.Registered()
	if !waited { // else others may read it
		r.Takes = takes && d == ready.In
	}
	err := s.sock.Resume(cx, &r.Wait)
	if err == sched.ErrPending && r.backoff.over(cx) {
		s.sock.Drop(d, &r.Wait)
		err = nil
	}
	if err == nil {
		r.reported = r.reported || waited
	} else if err != sched.ErrPending {
		r.backoff.cancel()
	}
	return err
}

// await waits after an attempt that found the socket not ready. send: the attempt was a send to an
// address. An error other than sched.ErrPending ends the call: nothing of it is left.
func (r *retry) await(cx *sched.Context, s *caller, d ready.Direction, send bool) error {
	err := r.register(cx, s, d, send)
	if err != sched.ErrPending {
		r.done(cx, s, d)
	}
	return err
}

func (r *retry) register(cx *sched.Context, s *caller, d ready.Direction, send bool) error {
	if send && s.sendsNeedTimer && r.reported {
		if err := s.sock.Park(cx, d, &r.Wait); err != sched.ErrPending {
			return err
		}
		if r.backoff == nil || r.backoff.rt != cx.Runtime() {
			r.backoff = &backoff{rt: cx.Runtime()}
		}
		r.backoff.start(cx)
		return sched.ErrPending
	}
	return s.sock.Await(cx, d, &r.Wait)
}

// done ends the call's turn, after an attempt that has succeeded or failed. cx may be nil.
func (r *retry) done(cx *sched.Context, s *caller, d ready.Direction) {
	s.sock.Pass(cx, d, &r.Wait)
	r.backoff.cancel()
	r.reset()
}

// drop forgets the wait.
func (r *retry) drop(s *caller, d ready.Direction) {
	s.sock.Drop(d, &r.Wait)
	r.backoff.cancel()
	r.reset()
}

// start starts the timer, unless it still runs. It may, because a close or another call ended the
// wait early.
func (b *backoff) start(cx *sched.Context) {
	if !b.on {
		b.pause = max(firstPause, b.pause)
		b.sleep.Reset(b.pause)
		b.pause = min(2*b.pause, longestPause)
		b.on = true
	}
	if _, err := b.sleep.Poll(cx); err == nil {
		cx.Waker().Wake() // the time has passed already; the next poll finds that
	}
}

// over reports whether the time of a backoff has passed.
func (b *backoff) over(cx *sched.Context) bool {
	if b == nil || !b.on {
		return false
	}
	_, err := b.sleep.Poll(cx)
	b.on = err != nil
	return err == nil
}

func (b *backoff) cancel() {
	if b != nil && b.on {
		b.on = false
		b.sleep.Cancel()
	}
}
