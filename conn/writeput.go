package conn

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
)

// maxPut is how much a goroutine may have queued for a connection.
const maxPut = bufs.Large

// put sends p from a goroutine that is not the task. If nothing waits before p, it makes the system
// call itself. It queues the rest as far as there is room, and returns how much it sent and queued.
// If that is not all of p, the Socket's MadeRoom is called when another try is worthwhile or the
// connection ends. There is one call at a time.
//
// The order is kept. put gets the right to send only if nobody holds it and nothing is queued, in
// the inbox or, as commands, with the task. While put holds the right, nobody else sends. The rest
// of p enters the queue before put gives the right up. A Socket's handler writes nothing itself.
// Bytes that others write by Handle.Do may fall between two parts of a write that put could not
// send whole. So may a file or a splice.
//
// When the connection is closing or mute, put fails: send says so in in.takes, under the lock.
// Bytes that put queued before are sent before the FIN. There is no FIN while put sends, or while
// its bytes wait for the task.
//
// The descriptor is open: tearDown closes the right, and then waits until nobody holds it. No end
// of a hold is missed: see sending.Right. writeNow takes the right for the task itself, and passNow
// for a splice's other end.
func (c *Conn) put(p []byte, s *Socket) (n int, err error) {
	c.mu.Lock()
	in := &c.inbox
	if !c.filter().passes(s) {
		c.mu.Unlock()
		return 0, errOverSocket
	}
	if in.takes != takesAll {
		c.mu.Unlock()
		return 0, errGone
	}
	held := in.right.Try()
	if held {
		fd := c.end.FD
		c.mu.Unlock()
		var errno syscall.Errno
		n, errno = c.group.sendNow(fd, nil, p)
		c.mu.Lock()
		leave := uint64(0)
		if errno != 0 && !passes(errno) {
			err, leave = sock.Error("write", errno), sending.Failed
		}
		if n == len(p) || err != nil || in.closed() {
			if n < len(p) && err == nil {
				err = errGone
			}
			told := in.right.GiveUp(n, leave)
			waiter := in.roomFor(told)
			c.mu.Unlock()
			if told.Task {
				c.task.Wake()
			}
			if waiter != nil {
				waiter.MadeRoom()
			}
			return n, err
		}
	}
	rest := p[n:]
	rest = rest[:min(len(rest), max(0, maxPut-in.waits()))]
	if len(rest) > 0 {
		in.enqueue(rest)
	}
	leave, wake := uint64(sending.Queued), true
	if n+len(rest) < len(p) {
		in.waiter = &s.duplex // something is queued, so there is mail
		leave |= sending.Waits
	}
	if held {
		in.right.GiveUp(n, leave)
	} else {
		wake = in.right.Queue(leave)
	}
	c.mu.Unlock()
	if wake {
		c.task.Wake()
	}
	return n + len(rest), nil
}

// roomFor is the Duplex whose MadeRoom the end of a hold calls, or nil. The lock is held.
func (in *inbox) roomFor(told sending.Told) (waiter *duplex.Duplex) {
	if told.Waiter && in.mail != nil {
		waiter, in.waiter = in.waiter, nil
	}
	return waiter
}

// enqueue adds a copy of p to the commands, to the last one if there is room. The lock
// is held.
func (in *inbox) enqueue(p []byte) {
	if in.mail == nil {
		in.mail = new(mail) // as with tell
	}
	in.bytes += len(p)
	if k := len(in.commands); k > 0 {
		last := &in.commands[k-1]
		if last.kind == cmdPut && cap(last.data)-len(last.data) >= len(p) {
			last.data = append(last.data, p...)
			return
		}
	}
	in.commands = append(in.commands, command{kind: cmdPut, data: append(bufs.GetShared(len(p)), p...)})
}

// takeOver queues bytes that put has left, without a copy if nothing is queued. It does so even if
// the connection is closing or mute, since the FIN waits for them. It does so after the write
// deadline too, since that is not the Socket's.
func (c *Conn) takeOver(data []byte) {
	c.out.Adopt(&c.driver.buffers, data)
	if c.is(closing) && (c.extras == nil || !c.extras.clock.Lingers()) {
		c.linger() // Close has seen nothing to wait for
	}
}
