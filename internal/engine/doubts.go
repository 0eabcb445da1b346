package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// Linux may overlook the end of a connection that arrives with the last bytes: if both wake a
// multishot receive before it runs, it delivers the bytes and waits for a wake-up that has passed.
// Linux 6.18 does this with a TCP reset. Some versions do it with the plain end of a Unix socket:
// see https://github.com/axboe/liburing/issues/1549. So a connection that got bytes from io_uring,
// or armed a receive, is in doubt until its worker has asked for the socket's state. If the end is
// there, the task cancels the receive, and the next one reports the end.
//
// A receive may also stop in front of TCP's urgent byte. The kernel's read fails with EAGAIN there
// while a signal or a task work is pending (tcp_recvmsg_locked), and no wake-up comes for the bytes
// behind it. The look finds the urgent byte, and the next receive reads on. An urgent byte that
// arrives first after a look is not found: no completion tells of the read that failed. Then the
// bytes behind it come with the next segment.
//
// The worker asks for many connections at a time and only every lookAfter: a call for each message
// made proxied echoes cost 11 to 15 % more. One look after the bytes is enough: a wake-up after the
// kernel has read them is not overlooked, and one before it means that the end is there by now.

const (
	lookAfter = 250 * time.Millisecond
	perLook   = 256 // so many at a time, then other work has a turn
)

// A Suspect is a Target that can be in doubt.
type Suspect interface {
	Target

	// Look ends the doubt. It adds the descriptor to the look, or reports false if the
	// connection is about to be closed.
	Look(*sock.Look) bool
	// Overlooked says that the receive in flight has missed something. It wakes the task, on the
	// worker of by.
	Overlooked(by *Driver)
	// DoubtAgain is for a look that failed.
	DoubtAgain(by *Driver)
}

// doubts are a worker's connections that are in doubt. While the worker is stuck in a handler,
// another one looks in its place.
type doubts struct {
	due atomic.Int64 // when to look, by Driver.sinceStart; 0: nobody is in doubt

	mu     sync.Mutex // inside a connection's mutex, never around it
	tokens []reactor.Token

	// The worker's goroutine alone, for whichever worker's doubts it looks at.
	taken  []reactor.Token // from tokens
	look   sock.Look
	looked []Suspect // that look is about
}

// Doubt makes the worker check a Suspect later.
func (d *Driver) Doubt(token reactor.Token) {
	d.doubts.mu.Lock()
	defer d.doubts.mu.Unlock()
	d.doubts.tokens = append(d.doubts.tokens, token)
	if len(d.doubts.tokens) == 1 {
		d.doubts.due.Store(int64(d.sinceStart() + lookAfter))
	}
}

// Doubted is how many connections the worker is going to look at.
func (d *Driver) Doubted() int {
	d.doubts.mu.Lock()
	defer d.doubts.mu.Unlock()
	return len(d.doubts.tokens)
}

// TakeDoubts makes the next Poll of d check the Suspects of another driver. It is for tests.
func (d *Driver) TakeDoubts(from *Driver) {
	d.doubts.tokens = from.doubts.take(nil)
	d.doubts.due.Store(1)
}

// sinceStart is the time of the worker's tick. The kernel's time goes on while a virtual clock
// stands still.
func (d *Driver) sinceStart() time.Duration {
	if d.group.Virtual {
		return time.Since(started)
	}
	return d.Cx.Now()
}

var started = time.Now()

// lookInTime looks at the worker's own doubts if that is due. Else wait is shortened until then.
// A worker that it has woken tasks for must not go on waiting, with them in its queue.
func (d *Driver) lookInTime(wait time.Duration) (woken int, shorter time.Duration) {
	due := time.Duration(d.doubts.due.Load())
	if due == 0 {
		return 0, wait
	}
	left := due - d.sinceStart()
	if left <= 0 {
		woken = d.lookAtDoubts(d)
		left = 0 // tasks that were woken run now
	}
	if wait < 0 || wait > left {
		wait = left
	}
	return woken, wait
}

// lookFor looks at the doubts of another worker, if that is due.
func (d *Driver) lookFor(of *Driver) (woken int) {
	if due := time.Duration(of.doubts.due.Load()); due != 0 && d.sinceStart() >= due {
		return d.lookAtDoubts(of)
	}
	return 0
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

// lookAtDoubts wakes the connections whose receive has missed something, of those that another
// worker's driver, or d itself, has in doubt. It reports how many have.
//
// A descriptor may be closed between the look's two halves, and be another connection's. Then the
// look is in vain: that one has doubts of its own.
func (d *Driver) lookAtDoubts(of *Driver) (ended int) {
	o := &d.doubts
	o.taken = of.doubts.take(o.taken[:0])
	for _, token := range o.taken {
		e := d.group.Table.Get(token)
		if e == nil {
			continue
		}
		if s := e.Target.(Suspect); s.Look(&o.look) {
			o.looked = append(o.looked, s)
		}
	}
	all, err := o.look.Ended()
	for _, i := range all {
		o.looked[i].Overlooked(d)
	}
	if err != nil { // the kernel lacked memory
		for _, s := range o.looked {
			s.DoubtAgain(d)
		}
		o.due.Store(int64(d.sinceStart() + lookAfter))
	}
	clear(o.looked)
	o.looked = o.looked[:0]
	return len(all)
}
