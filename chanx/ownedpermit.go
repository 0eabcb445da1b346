package chanx

import (
	"context"
)

// An OwnedPermit is a Permit together with its Sender, which it returns when it is used. (A Permit
// without the Sender can also be passed on, but the Sender can be closed meanwhile.) It must not
// be copied. Its holder calls either Send or Release, once; a second call panics.
type OwnedPermit[T any] struct {
	permit Permit[T]
	sender *Sender[T]
}

// ReserveOwned is Reserve for a permit that includes the handle: nobody may use s until Send or
// Release of the permit returns it. With an error the caller keeps the handle. With an error there
// is no permit.
func (s *Sender[T]) ReserveOwned(ctx context.Context) (OwnedPermit[T], error) {
	return s.owned(s.Reserve(ctx))
}

// TryReserveOwned is ReserveOwned without waiting. The error is ErrFull or ErrClosed.
func (s *Sender[T]) TryReserveOwned() (OwnedPermit[T], error) { return s.owned(s.TryReserve()) }

func (s *Sender[T]) owned(p Permit[T], err error) (OwnedPermit[T], error) {
	if err != nil {
		return OwnedPermit[T]{}, err
	}
	return OwnedPermit[T]{p, s}, nil
}

// Send sends v, as Permit.Send does. It returns the handle, also with an error.
func (p *OwnedPermit[T]) Send(ctx context.Context, v T) (*Sender[T], error) {
	err := p.permit.Send(ctx, v)
	return p.sender, err
}

// Discard is Release for package sched, which calls it for a permit that is a result that nobody
// takes (see sched.Releaser). The handle stays open.
func (p *OwnedPermit[T]) Discard() { p.permit.Release() }

// Release gives back the room, to the next waiting sender, and returns the handle.
func (p *OwnedPermit[T]) Release() *Sender[T] {
	p.permit.Release()
	return p.sender
}
