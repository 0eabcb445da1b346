package core

import (
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
)

// maxQueued is how much a goroutine may have queued for a connection.
const maxQueued = bufs.Large

// A Sender is a Socket through which a goroutine sends.
type Sender struct {
	Socket  net.Conn       // the Socket
	Duplex  *duplex.Duplex // that waits for room
	Streams bool           // it may be within TLS: the task encrypts
}

// Write sends p from a goroutine that is not the task. If nothing waits before p, it makes the
// system call itself. It queues the rest as far as there is room, and returns how much it sent and
// queued. If that is not all of p, the Socket's MadeRoom is called when another try is worthwhile
// or the connection ends. There is one call at a time.
//
// The order is kept. Write gets the right to send only if nobody holds it and nothing is queued, in
// the inbox or, as commands, with the task. While Write holds the right, nobody else sends. The
// rest of p enters the queue before Write gives the right up. A Socket's handler writes nothing
// itself. Bytes that others write by Handle.Do may fall between two parts of a write that Write
// could not send whole. So may a file or a splice.
//
// When the connection is closing or its write side is closed, Write fails: send has shut the inbox,
// under the lock. Bytes that Write queued before are sent before the FIN. There is no FIN while
// Outlet.Write sends, or while its bytes wait for the task.
//
// The descriptor is open: tearDown closes the right, and then waits until nobody holds it. No end
// of a hold is missed: see sending.Right. writeNow takes the right for the task itself, and pass
// for a splice's other end.
func (o *Outlet) Write(p []byte, s Sender) (n int, err error) {
	c := (*Conn)(o)
	c.Mu.Lock()
	in := &c.Inbox
	unchanged := c.Filter().sendsUnchanged(s.Socket)
	if !unchanged && !(s.Streams && c.Filter().Decrypts()) {
		c.Mu.Unlock()
		return 0, ErrOverSocket
	}
	if !in.TakesWrites() {
		c.Mu.Unlock()
		return 0, ErrGone
	}
	mine := unchanged && in.Right.Try() // else the task encrypts the queued bytes
	if mine {
		fd := c.Endpoint.FD
		c.Mu.Unlock()
		var errno syscall.Errno
		n, errno = c.Group.SendNow(fd, nil, p)
		c.Mu.Lock()
		leave := uint64(0)
		if errno != 0 && !IsTemporary(errno) {
			err, leave = sock.Error("write", errno), sending.Failed
		}
		if n == len(p) || err != nil || in.Closed() {
			if n < len(p) && err == nil {
				err = ErrGone
			}
			told := in.Right.GiveUp(n, leave)
			waiter := in.roomFor(told.Waiter)
			c.closeOrphan()
			c.Mu.Unlock()
			if told.Task {
				c.Task.Wake()
			}
			if waiter != nil {
				waiter.MadeRoom()
			}
			return n, err
		}
	}
	rest := p[n:]
	rest = rest[:min(len(rest), max(0, maxQueued-in.waits()))]
	if len(rest) > 0 {
		in.enqueue(rest)
	}
	leave, wake := uint64(sending.Queued), true
	if n+len(rest) < len(p) {
		leave |= in.awaitRoom(s.Duplex)
	}
	if mine {
		in.Right.GiveUp(n, leave)
	} else {
		wake = in.Right.Queue(leave)
	}
	c.Mu.Unlock()
	if wake {
		c.Task.Wake()
	}
	return n + len(rest), nil
}

// QueueAll queues p, even if more than maxQueued then waits. The same call has given p to Write,
// and Write has refused it or taken a part.
func (o *Outlet) QueueAll(p []byte) error {
	c := (*Conn)(o)
	c.Mu.Lock()
	in := &c.Inbox
	if !in.TakesWrites() {
		c.Mu.Unlock()
		return ErrGone
	}
	in.enqueue(p)
	wake := in.Right.Queue(0)
	c.Mu.Unlock()
	if wake {
		c.Task.Wake()
	}
	return nil
}

// HasRoom reports whether Write would take anything. If not, the Socket's MadeRoom is called once
// it may, as after a Write that did not take all.
func (o *Outlet) HasRoom(d *duplex.Duplex) bool {
	c := (*Conn)(o)
	c.Mu.Lock()
	in := &c.Inbox
	if !in.TakesWrites() || in.waits() < maxQueued {
		c.Mu.Unlock()
		return true // of a connection that is over, Write says so
	}
	wake := in.Right.Queue(in.awaitRoom(d))
	c.Mu.Unlock()
	if wake {
		c.Task.Wake()
	}
	return false
}

// WriteRaw calls f with the descriptor unless something is to be sent before, as Outlet.Write
// sends. In that case MadeRoom of the Socket is called when another try is worthwhile.
func (o *Outlet) WriteRaw(f func(fd uintptr) bool, s Sender) (called bool, err error) {
	c := (*Conn)(o)
	c.Mu.Lock()
	in := &c.Inbox
	switch {
	case !c.Filter().sendsUnchanged(s.Socket):
		err = ErrOverSocket
	case !in.TakesWrites():
		err = ErrGone
	case !in.Right.Try():
		wake := in.Right.Queue(in.awaitRoom(s.Duplex))
		c.Mu.Unlock()
		if wake {
			c.Task.Wake()
		}
		return false, nil
	}
	c.Mu.Unlock()
	if err != nil {
		return false, err
	}
	defer o.done(0) // also if f panics
	if !f(uintptr(c.Endpoint.FD)) {
		return true, sock.ErrWouldWait
	}
	return true, nil
}

// enqueue adds a copy of p to the commands, to the last one if there is room. The lock is held, and
// the inbox is not closed.
func (in *inbox) enqueue(p []byte) {
	if last := in.Last(); last != nil && last.Kind == cmdWrite && cap(last.Data)-len(last.Data) >= len(p) {
		last.Data = append(last.Data, p...)
		in.Grew(len(p))
		return
	}
	in.Tell(Command{Kind: cmdWrite, Data: append(bufs.GetShared(len(p)), p...)}, len(p))
}
