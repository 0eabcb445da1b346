package process

import (
	"context"

	"github.com/suiro-go/suiro/internal/mpsc"
	"github.com/suiro-go/suiro/sched"
)

// An Overflow is a policy for messages that find the mailbox full.
type Overflow uint8

const (
	// OverflowRefuse means: Send returns ErrMailboxFull.
	OverflowRefuse Overflow = 1 + iota
	// OverflowWait means: Send waits for room, and TrySend returns ErrMailboxFull.
	OverflowWait
	// OverflowDropOldest means: the message that has waited for longest is dropped. Each send and
	// each receive takes a lock.
	OverflowDropOldest
	// OverflowDropNewest means: the message itself is dropped, and Send reports success.
	OverflowDropNewest
)

// Send puts a message into the mailbox of a process. Messages of one sender arrive in their order.
// No copy is made: the sender must not change the message afterward. The error is ErrNoProcess if
// the process has ended. A process that ends later may not receive the message (see
// Config.Dropped).
//
// Send waits only if the mailbox is full and its Overflow is OverflowWait, or if there is no room
// on the way to another node. It waits as sched.Await does, and with an error the message was not
// sent. With the context of the task that calls it, the wake-up is cheaper. For another node the
// error may be another one of the Remote.
func (s *System) Send(ctx context.Context, to PID, message any) error {
	if ctx != nil { // else Await refuses
		err := s.trySend(sched.FromContext(ctx), to, message)
		if err != ErrMailboxFull {
			return err
		}
		if p := s.table.get(to); p != nil && p.overflow != OverflowWait {
			return err
		}
	}
	_, err := sched.Await(ctx, s.SendFuture(to, message))
	return err
}

// TrySend is Send that never waits: where Send would, the error is ErrMailboxFull.
func (s *System) TrySend(to PID, message any) error { return s.trySend(nil, to, message) }

// SendFuture is Send for sched.Select, time-outs and stackless tasks. If it is abandoned before it
// is done, the message was not sent.
func (s *System) SendFuture(to PID, message any) sched.Future[struct{}] {
	return &sendFuture{sys: s, to: to, message: message}
}

type sendFuture struct {
	sys     *System
	to      PID
	message any
	wait    bool  // whatever the Overflow is
	at      *proc // has perhaps a seat for it in its room

	// at's lock guards them.
	seat  mpsc.Seat
	waker sched.Waker
}

// Poll tries to send. A sender that finds no room sits down in the process's room, and tries again:
// see mpsc.Room.
func (f *sendFuture) Poll(cx *sched.Context) (struct{}, error) {
	err := f.poll(cx)
	if err != sched.ErrPending {
		f.Cancel()
	}
	return struct{}{}, err
}

func (f *sendFuture) poll(cx *sched.Context) error {
	if f.sys == nil { // of the zero Ref
		return ErrNoProcess
	}
	err := f.sys.trySend(cx, f.to, f.message)
	if err != ErrMailboxFull {
		return err
	}
	p := f.sys.table.get(f.to)
	r := f.sys.remote(f.to)
	switch {
	case p == nil && r != nil:
		for !r.AwaitRoom(f.to, cx.Waker()) {
			if err = f.sys.trySend(cx, f.to, f.message); err != ErrMailboxFull {
				return err
			}
		}
	case p == nil:
		return ErrNoProcess
	case p.overflow != OverflowWait && !f.wait:
		return err
	case !p.awaitRoom(f, cx.Waker()):
		return ErrNoProcess
	}
	if err = f.sys.trySend(cx, f.to, f.message); err == ErrMailboxFull {
		err = sched.ErrPending
	}
	return err
}

// Cancel leaves the room.
func (f *sendFuture) Cancel() {
	if f.at != nil {
		f.at.leaveRoom(f)
		f.at = nil
	}
}

// awaitRoom makes a sender sit down for one wake-up. false: the process has ended.
func (p *proc) awaitRoom(f *sendFuture, w sched.Waker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	f.at, f.waker, f.seat.Owner = p, w, f
	p.mailbox.Sit(&p.more().room, &f.seat)
	return true
}

// leaveRoom takes a sender out of the room, and may wake another one.
func (p *proc) leaveRoom(f *sendFuture) {
	var next sched.Waker
	p.mu.Lock()
	if !p.ended { // else the room is empty
		if s := p.mailbox.Leave(&p.extras.room, &f.seat); s != nil {
			next = wakerOf(s)
		}
	}
	p.mu.Unlock()
	next.Wake()
}

// wakerOf is the waker of a sender in the room. The process's lock is held.
func wakerOf(s *mpsc.Seat) sched.Waker { return s.Owner.(*sendFuture).waker }

// callAll takes the senders out of the room, for the caller to wake. The process's lock is held.
func (p *proc) callAll() (all []sched.Waker) {
	if p.extras == nil {
		return nil
	}
	for s := p.mailbox.Call(&p.extras.room); s != nil; s = p.mailbox.Call(&p.extras.room) {
		all = append(all, wakerOf(s))
	}
	return all
}

// madeRoom wakes as many of the senders that wait as messages were freed. They try again.
func (p *proc) madeRoom(freed int) {
	for freed > 0 && p.mailbox.Waiting() {
		var senders [16]sched.Waker
		n := 0
		p.mu.Lock()
		for ; n < min(freed, len(senders)); n++ {
			s := p.mailbox.Call(&p.extras.room)
			if s == nil {
				break
			}
			senders[n] = wakerOf(s)
		}
		p.mu.Unlock()
		for _, w := range senders[:n] {
			if p.cx != nil {
				p.cx.Wake(w)
			} else {
				w.Wake()
			}
		}
		freed -= n
	}
}

// trySend is a send that does not wait.
func (s *System) trySend(cx *sched.Context, to PID, message any) error {
	p := s.table.get(to)
	if p == nil {
		return s.sendRemote(to, message)
	}
	return p.send(cx, message)
}

func (p *proc) send(cx *sched.Context, message any) error {
	if p.overflow == OverflowDropOldest {
		return p.sendDropping(cx, message)
	}
	if !p.mailbox.Reserve() {
		if p.overflow == OverflowDropNewest {
			p.sys.drop(p.pid, Event{Data: message}, ErrMailboxFull)
			return nil
		}
		return ErrMailboxFull
	}
	n := p.sys.node(message)
	if !p.put(cx, n, mpsc.Message) {
		p.mailbox.Free(1)
		p.sys.free(n)
		return ErrNoProcess
	}
	return nil
}

// sendDropping is send with OverflowDropOldest. If there is no room, the sender acts as the
// consumer: it empties the mailbox, and drops the oldest message. All who take or count messages of
// this mailbox hold the lock. So a full mailbox has its messages here.
func (p *proc) sendDropping(cx *sched.Context, message any) error {
	n := p.sys.node(message)
	var oldest *node
	p.mu.Lock()
	if p.ended { // the mailbox is closed, or will be
		p.mu.Unlock()
		p.sys.free(n)
		return ErrNoProcess
	}
	if !p.mailbox.Reserve() {
		p.collect()
		oldest = p.takeOldest()
	}
	accepted, first := p.mailbox.Put(n)
	wake := accepted && first && p.state.Notify(mpsc.Message)
	p.mu.Unlock()
	if wake {
		p.rouse(cx)
	}
	if oldest != nil {
		p.sys.drop(p.pid, eventOf(oldest), ErrMailboxFull)
		p.sys.free(oldest)
	}
	if !accepted {
		p.sys.free(n)
		return ErrNoProcess
	}
	return nil
}

// takeOldest takes out the oldest message. Other events stay.
func (p *proc) takeOldest() *node {
	var before *node
	n := p.pending
	for n != nil && signalOf(n) != nil {
		before, n = n, n.Next
	}
	if n == nil {
		return nil
	}
	p.unlink(before, n)
	if x := p.extras; x != nil && x.looked == n {
		x.looked, x.passed = n.Next, true
	}
	return n
}
