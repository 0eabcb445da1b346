package process

import (
	"context"
	"sync"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/sched"
)

// A Request is a message whose sender waits for an answer: a process receives a *Request[Q, R], and
// calls Reply or Fail, once, then or later and from any goroutine.
type Request[Q, R any] struct {
	Body Q

	mu      sync.Mutex
	done    bool // answered, or nobody waits
	replied bool // a Reply was called
	value   R
	err     error
	waker   sched.Waker

	answered func(R, error) // of NewRequest
}

// Reply answers the request. An answer that comes too late has no effect: a value that is a
// sched.Releaser is released. A second Reply has no effect at all.
func (r *Request[Q, R]) Reply(value R) { r.answer(value, nil) }

// Fail answers with an error.
func (r *Request[Q, R]) Fail(err error) { r.answer(*new(R), err) }

func (r *Request[Q, R]) fail(err error) { r.Fail(err) }

// processEnded is called when the process has ended without an answer.
func (r *Request[Q, R]) processEnded(PID, error) { r.Fail(ErrNoProcess) }

func (r *Request[Q, R]) answer(value R, err error) {
	if err == sched.ErrPending { // as the result of a future it would mean that there is no answer
		err = sched.ErrPendingResult
	}
	r.mu.Lock()
	first := err == nil && !r.replied
	r.replied = r.replied || err == nil
	if r.done {
		r.mu.Unlock()
		if first {
			sched.Result[R]{Value: value}.Release()
		}
		return
	}
	r.done, r.value, r.err = true, value, err
	w := r.waker
	r.mu.Unlock()
	if r.answered != nil {
		r.answered(value, err)
	}
	w.Wake()
}

// abandon says that nobody waits for the answer any more.
func (r *Request[Q, R]) abandon() {
	r.mu.Lock()
	answered, value, err := r.done, r.value, r.err
	r.done, r.value = true, *new(R)
	r.mu.Unlock()
	if answered {
		sched.Result[R]{Value: value, Err: err}.Release()
	}
}

// Call sends a request to a process, and waits for the answer, as sched.Await does. With
// OverflowWait it first waits for room. The error is ErrNoProcess if the process has ended before
// it answered. Set a deadline: a process that is busy may answer late, or never. A late answer that
// is a sched.Releaser is released. If the wait is refused, nothing is sent.
func Call[Q, R any](ctx context.Context, s *System, to PID, body Q) (R, error) {
	if err := ctxcheck.Refused(ctx); err != nil {
		return *new(R), err
	}
	return sched.Await(ctx, CallFuture[Q, R](s, to, body))
}

// CallFuture is Call for sched.Select and stackless tasks, and for sched.Timeout, which costs less
// than a context with a deadline. The first poll sends the request.
func CallFuture[Q, R any](s *System, to PID, body Q) sched.Future[R] {
	c := new(call[Q, R])
	c.request.Body = body
	c.send = sendFuture{sys: s, to: to, message: &c.request}
	return c
}

type call[Q, R any] struct {
	send    sendFuture
	request Request[Q, R]
	target  *proc  // watched
	remote  Remote // of another node's process
	sent    bool
}

func (c *call[Q, R]) Poll(cx *sched.Context) (R, error) {
	r := &c.request
	if !c.sent {
		if _, err := c.send.Poll(cx); err != nil {
			return *new(R), err
		}
		c.sent = true
		s, to := c.send.sys, c.send.to
		p := s.table.get(to)
		if c.remote = s.remote(to); p == nil && c.remote != nil {
			// it answers
		} else if p == nil || !p.watch(r) { // perhaps it has answered, and then ended
			r.Fail(ErrNoProcess)
		} else {
			c.target = p
		}
	}
	r.mu.Lock()
	r.waker = cx.Waker()
	done := r.done
	r.mu.Unlock()
	if !done {
		return *new(R), sched.ErrPending
	}
	c.leave()
	return r.value, r.err
}

// Cancel gives up the wait.
func (c *call[Q, R]) Cancel() {
	defer c.request.abandon() // it calls a function of the user, which may panic
	c.leave()
}

// leave forgets the request wherever it is known.
func (c *call[Q, R]) leave() {
	c.send.Cancel()
	if c.target != nil {
		c.target.unwatch(&c.request)
		c.target = nil
	}
	if c.sent && c.remote != nil {
		c.remote.Forget(&c.request)
		c.remote = nil
	}
}
