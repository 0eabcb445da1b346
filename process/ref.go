package process

import (
	"context"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A Ref is a typed address: that of a process of a System which receives messages of type M. It may
// be copied, compared and kept, as a PID. The zero value is the address of no process.
type Ref[M any] struct {
	sys *System
	pid PID
}

// RefOf is a Ref of any process. A function's Receive drops messages that are not of its type.
func RefOf[M any](s *System, pid PID) Ref[M] { return Ref[M]{s, pid} }

// PID is the untyped address.
func (r Ref[M]) PID() PID { return r.pid }

// Send is System.Send.
func (r Ref[M]) Send(ctx context.Context, message M) error {
	if r.sys == nil {
		return ErrNoProcess
	}
	return r.sys.Send(ctx, r.pid, message)
}

// TrySend is System.TrySend.
func (r Ref[M]) TrySend(message M) error {
	if r.sys == nil {
		return ErrNoProcess
	}
	return r.sys.TrySend(r.pid, message)
}

// SendFuture is System.SendFuture.
func (r Ref[M]) SendFuture(message M) sched.Future[struct{}] {
	return r.sys.SendFuture(r.pid, message) // with no System, too
}

// A Delayed is a message that is to be sent.
type Delayed struct{ timer *sched.FuncTimer }

// SendAfter sends a message when d has passed: never early, and usually within 2 ms. If the process
// has ended by then or its mailbox is full, the message goes to Config.Dropped.
func (s *System) SendAfter(d time.Duration, to PID, message any) Delayed {
	return Delayed{s.rt.AfterFunc(d, func() {
		if err := s.trySend(nil, to, message); err != nil {
			s.drop(to, Event{Data: message}, err)
		}
	})}
}

// Stop prevents the send, and reports whether it did.
func (d Delayed) Stop() bool { return d.timer.Stop() }
