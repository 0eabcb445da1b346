package conn

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// Linux may overlook the end of a connection that arrives with the last bytes: if both wake a
// multishot receive before it runs, it delivers the bytes and waits for a wake-up that has passed.
// Linux 6.18 does this with a TCP reset. Some versions do it with the plain end of a Unix socket:
// see https://github.com/axboe/liburing/issues/1549. So a connection that got bytes from io_uring
// is in doubt until its worker has asked for the socket's state. If the end is there, the task
// cancels the receive, and the next one reports the end.
//
// The worker asks for many connections at a time and only every lookAfter: a call for each message
// made proxied echoes cost 11 to 15 % more. One look after the bytes is enough: a wake-up after the
// kernel has read them is not overlooked, and one before it means that the end is there by now.

const (
	lookAfter = 250 * time.Millisecond
	perLook   = 256 // so many at a time, then other work has a turn
)

// A doubts is a worker's connections that are in doubt. While the worker is stuck in a handler,
// another one looks in its place.
type doubts struct {
	due atomic.Int64 // when to look, by driver.sinceStart; 0: nobody is in doubt

	mu     sync.Mutex // inside a connection's mutex, never around it
	tokens []reactor.Token

	// The worker's goroutine alone, for whichever worker's doubts it looks at.
	taken  []reactor.Token // from tokens
	look   sock.Look
	looked []*Conn // whom look is about
}

// doubt has the worker look at the connection later. The connection's mutex is held.
func (c *Conn) doubt(d *driver) {
	if !c.group.completes || c.inbox.watch&watchDoubted != 0 {
		return
	}
	c.inbox.watch |= watchDoubted
	d.doubts.mu.Lock()
	defer d.doubts.mu.Unlock()
	d.doubts.tokens = append(d.doubts.tokens, c.end.Token)
	if len(d.doubts.tokens) == 1 {
		d.doubts.due.Store(int64(d.sinceStart() + lookAfter))
	}
}

// sinceStart is the time of the worker's tick. The kernel's time goes on while a virtual clock
// stands still.
func (d *driver) sinceStart() time.Duration {
	if d.group.virtual {
		return time.Since(started)
	}
	return d.Cx.Now()
}

var started = time.Now()

// Poll implements sched.Driver. What a look has woken counts: else the worker would go on sleeping,
// with that in its queue.
func (d *driver) Poll(cx *sched.Context, wait time.Duration, hold bool) (int, error) {
	woken := 0
	if due := time.Duration(d.doubts.due.Load()); due != 0 {
		d.Cx = cx
		left := due - d.sinceStart()
		if left <= 0 {
			woken = d.lookAtDoubts(d)
			left = 0 // who has been woken runs now
		}
		if wait < 0 || wait > left {
			wait = left
		}
	}
	n, err := d.Driver.Poll(cx, wait, hold)
	return woken + n, err
}

// Rescue implements sched.Rescuer.
func (d *driver) Rescue(cx *sched.Context) (n int) {
	if due := time.Duration(d.doubts.due.Load()); due != 0 {
		by := cx.Driver().(*driver)
		by.Cx = cx
		if by.sinceStart() >= due {
			n = by.lookAtDoubts(d)
		}
	}
	return n + d.Driver.Rescue(cx)
}

// take takes some of the connections, and appends them to tokens.
func (o *doubts) take(tokens []reactor.Token) []reactor.Token {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(o.tokens), perLook)
	tokens = append(tokens, o.tokens[:n]...)
	o.tokens = o.tokens[:copy(o.tokens, o.tokens[n:])]
	if len(o.tokens) == 0 {
		o.due.Store(0)
		if cap(o.tokens) > perLook {
			o.tokens = nil
		}
	}
	return tokens
}

// lookAtDoubts wakes the connections that have ended, of those that another worker's driver, or d
// itself, has in doubt. It reports how many have.
func (d *driver) lookAtDoubts(of *driver) (ended int) {
	o := &d.doubts
	o.taken = of.doubts.take(o.taken[:0])
	for _, token := range o.taken {
		e := d.group.core.Table.Get(token)
		if e == nil {
			continue
		}
		c := connOf(e)
		c.mu.Lock()
		c.inbox.watch &^= watchDoubted
		if !c.inbox.closed() {
			o.look.Add(c.end.FD, !c.overTCP())
			o.looked = append(o.looked, c)
		}
		c.mu.Unlock()
	}
	// A descriptor may be closed and be another connection's by now. Then the look is in vain: that
	// one has doubts of its own.
	all, err := o.look.Ended()
	for _, i := range all {
		c := o.looked[i]
		c.mu.Lock()
		c.inbox.watch |= watchEnded
		c.mu.Unlock()
		d.Cx.Wake(c.task.Waker())
	}
	if err != nil {
		d.doubtAgain()
	}
	clear(o.looked)
	o.looked = o.looked[:0]
	return len(all)
}

// doubtAgain is for a look for which the kernel lacked memory: it is made again later.
func (d *driver) doubtAgain() {
	for _, c := range d.doubts.looked {
		c.mu.Lock()
		if !c.inbox.closed() {
			c.doubt(d)
		}
		c.mu.Unlock()
	}
	d.doubts.due.Store(int64(d.sinceStart() + lookAfter))
}
