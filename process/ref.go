package process

import (
	"context"

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
