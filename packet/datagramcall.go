package packet

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A caller is the part of a socket that calls need. It does not depend on the type of addresses.
type caller struct {
	sock           ready.Socket
	calls          reactor.Calls
	from           *engine.Origin // its figures
	sendsNeedTimer bool           // the kernel does not report room in the receiver's queue
	errors         interface {
		// opError wraps an error as package net does. A nil addr is the peer, if there is one.
		opError(op string, addr *reactor.Sockaddr, err error) error
	}
}

// A call is one receive or send that may wait. As a future, its value is the number of bytes.
type call struct {
	s    *caller
	kind callKind
	p    []byte
	addr reactor.Sockaddr // of the sender or the receiver
	wait retry

	tried   bool  // an attempt has found the socket not ready: the next poll waits without one
	refused error // of a future: it fails with this error
}

type callKind uint8

const (
	callRecv     callKind = iota // without the sender
	callRecvFrom                 // with addr
	callSend                     // to the peer
	callSendTo                   // to addr
	callReadable                 // only waits
	callWritable
	callRecvBatch // waits for its turn; the caller receives then
	callSendBatch // waits before the caller tries to send again
)

var (
	_ sched.Future[int] = (*call)(nil)
	_ sched.Canceler    = (*call)(nil)

	// spareCalls are for methods without a future. A call that panicked is not put back.
	spareCalls = sync.Pool{New: func() any { return new(call) }}
)

func newCall(s *caller, kind callKind, p []byte) *call {
	c := spareCalls.Get().(*call)
	c.s, c.kind, c.p, c.tried = s, kind, p, false
	c.wait.reset()
	return c
}

// put gives back a call that is done or was canceled.
func (c *call) put() {
	c.s, c.p = nil, nil
	spareCalls.Put(c)
}

func (c *call) direction() ready.Direction {
	switch c.kind {
	case callSend, callSendTo, callWritable, callSendBatch:
		return ready.Out
	}
	return ready.In
}

// op is the operation's name in a net.OpError.
func (c *call) op() string {
	if c.direction() == ready.Out {
		return "write"
	}
	return "read"
}

// try makes the system call. The error is ErrWouldBlock or final.
func (c *call) try() (n int, err error) {
	s := c.s
	fd, err := s.sock.Enter(c.direction(), &c.wait.Attempt)
	if err != nil {
		return 0, s.errors.opError(c.op(), nil, err)
	}
	var errno syscall.Errno
	name := "recvfrom"
	switch c.kind {
	case callRecv:
		n, errno = s.calls.TryRecvFrom(fd, c.p, nil)
	case callRecvFrom:
		n, errno = s.calls.TryRecvFrom(fd, c.p, &c.addr)
	case callSend:
		n, name = len(c.p), "sendto"
		errno = s.calls.TrySendTo(fd, c.p, nil)
	case callSendTo:
		n, name = len(c.p), "sendto"
		errno = s.calls.TrySendTo(fd, c.p, &c.addr)
	}
	s.sock.Leave()
	if errno == 0 {
		if c.direction() == ready.Out {
			s.countOut(n)
		} else {
			s.countIn(1, n)
		}
		return n, nil
	}
	var to *reactor.Sockaddr
	if c.kind == callSendTo {
		to = &c.addr
	}
	return 0, s.failed(c.op(), name, to, errno)
}

// failed is the error for an errno of a system call of that name. A nil to is the peer.
func (s *caller) failed(op, name string, to *reactor.Sockaddr, errno syscall.Errno) error {
	switch {
	case errno == syscall.EAGAIN:
		return ErrWouldBlock
	case s.sock.Closed(): // the errno may be of the inert socket
		return s.errors.opError(op, nil, net.ErrClosed)
	}
	return s.errors.opError(op, to, sock.Error(name, errno))
}

// ended is the error with which a wait has ended.
func (s *caller) ended(op string, err error) error {
	if err == nil || err == sched.ErrPending {
		return err
	}
	return s.errors.opError(op, nil, err)
}

// Poll implements sched.Future.
func (c *call) Poll(cx *sched.Context) (int, error) {
	if c.refused != nil {
		return 0, c.refused
	}
	d, waited := c.direction(), c.wait.Registered()
	if err := c.wait.resume(cx, c.s, d, c.kind != callReadable); err != nil {
		return 0, c.s.ended(c.op(), err)
	}
	if c.kind >= callReadable && waited {
		return 0, nil
	}
	if !cx.Proceed() {
		return 0, sched.ErrPending
	}
	if c.kind < callReadable && !c.tried {
		if n, err := c.try(); err != ErrWouldBlock {
			c.wait.done(cx, c.s, d)
			return n, err
		}
	}
	c.tried = false
	cx.Refund()
	return 0, c.s.ended(c.op(), c.wait.await(cx, c.s, d, c.kind == callSendTo || c.kind == callSendBatch))
}

// Cancel implements sched.Canceler.
func (c *call) Cancel() { c.wait.drop(c.s, c.direction()) }

// now makes the call. It tries at once, and waits if the socket is not ready.
func (c *call) now(ctx context.Context) (int, error) {
	if sched.FromContext(ctx).Proceed() && ctx != nil && ctxcheck.Ended(ctx) == nil {
		if n, err := c.try(); err != ErrWouldBlock {
			return n, err
		}
		c.tried = true
	}
	return c.ready(ctx)
}

// ready is now without a first attempt.
func (c *call) ready(ctx context.Context) (int, error) {
	closed := func(err error) error { return c.s.ended(c.op(), err) }
	return ready.WaitFor(ctx, c.s.sock.Group().RT, c, closed)
}

// closedOr returns net.ErrClosed for the errors of a reactor that has ended, and other errors as
// they are.
func closedOr(err error) error {
	if err != os.ErrDeadlineExceeded && errors.Is(err, net.ErrClosed) {
		return net.ErrClosed
	}
	return err
}
