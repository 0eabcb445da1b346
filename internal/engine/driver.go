package engine

import (
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/inline"
	"github.com/suiro-go/suiro/internal/iosync"
	"github.com/suiro-go/suiro/internal/owned"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Driver joins a worker with its reactor: it passes completions on to the targets they belong to.
// Data of a worker that only one kind of target needs lies in a struct that embeds the Driver. That
// struct is the worker's sched.Driver.
//
// A target's task runs on any worker, and uses that worker's context and pools. It submits
// operations to the reactor that Via names. A completion of this driver's reactor is mostly
// delivered by its own worker. While that worker is stuck, another worker delivers it (Rescue).
// taker is held from the taking of completions until the last is delivered. So one worker at a
// time, and in order, fills a target's inbox from one reactor. The owner holds it also while it
// waits, so that a rescuer cannot take from under it the completion, or the wake-up, that it waits
// for.
type Driver struct {
	Worker int             // whose it is
	R      reactor.Reactor // its methods say who may call them
	group  *Group
	taker  atomics.Mutex // guards taking completions from R
	doubts doubts

	// The worker's goroutine alone, for whichever reactor it works.
	Cx          *sched.Context // the worker's
	Op          reactor.Op     // for Submit: an Op passed to an interface would go to the heap
	KeepLocal   bool           // the completions are few: no other worker is woken for them
	Packets     any            // what package packet has of a worker
	completions [perPoll]reactor.Completion
	chunks      [][]reactor.Buffer // empty lists for inboxes

	// Exhausted counts completions of receives that found no free buffer. The worker that takes the
	// completion owns the counter of its own driver.
	Exhausted owned.Counter
}

// perPoll is how many completions a poll returns. They are few enough that the same tick runs their
// tasks, while the received bytes are in the cache. With more than a tick runs, the worker's queue
// grows until it overflows.
const perPoll = 64

var (
	_ sched.Driver  = (*Driver)(nil)
	_ sched.Rescuer = (*Driver)(nil)
)

// Init is for a new driver, before its worker begins.
func (d *Driver) Init(g *Group, worker int, r reactor.Reactor) {
	d.group, d.Worker, d.R = g, worker, r
}

// Engine is the driver itself, of what embeds it.
func (d *Driver) Engine() *Driver { return d }

// Of is the driver of a worker.
func Of(cx *sched.Context) *Driver { return cx.Driver().(interface{ Engine() *Driver }).Engine() }

// Poll implements sched.Driver.
func (d *Driver) Poll(cx *sched.Context, wait time.Duration, hold bool) (int, error) {
	d.Cx = cx
	woken, wait := d.lookInTime(wait)
	d.taker.Lock()
	defer d.taker.Unlock()
	n, err := d.R.Poll(d.completions[:], wait, hold)
	d.pass(d, n)
	return woken + n, err
}

// Rescue implements sched.Rescuer.
func (d *Driver) Rescue(cx *sched.Context) int {
	by := Of(cx)
	by.Cx = cx
	woken := by.lookFor(d)
	if !d.taker.TryLock() {
		return woken
	}
	defer d.taker.Unlock()
	n, err := d.R.Rescue(by.completions[:])
	if err != nil {
		n = 0 // the owner will meet the same error, and has the say about it
	}
	d.pass(by, n)
	return woken + n
}

// pass delivers n completions of this driver's reactor on the worker that has
// taken them.
func (d *Driver) pass(by *Driver, n int) {
	by.KeepLocal = d == by && inline.Alone(d.Cx, n)
	for i := range n {
		c := &by.completions[i]
		if c.Res < 0 && c.Errno() == syscall.ENOBUFS {
			by.Exhausted.Add(1)
		}
		if iosync.Enabled && (c.Kind == reactor.Recv || c.Kind == reactor.RecvFrom) {
			iosync.AfterReceive()
		}
		if e := d.group.Table.Get(c.Token); e != nil {
			e.Target.Deliver(by, c)
		} else {
			d.drop(c)
		}
	}
}

// drop releases the completion of an endpoint that has been removed.
func (d *Driver) drop(c *reactor.Completion) {
	switch {
	case c.Kind == reactor.Recv && c.Res > 0, c.Kind == reactor.RecvFrom && c.Res >= 0:
		d.R.Release(c.Buf)
	case c.Kind == reactor.Accept && c.Res >= 0:
		sock.Close(c.Res) // no reactor knows it yet
	}
}

// Wake implements sched.Driver.
func (d *Driver) Wake() {
	if err := d.R.Wake(); err != nil {
		d.group.Logger.Error("conn: waking a reactor", "error", err)
	}
}

// Close implements sched.Driver.
func (d *Driver) Close() error {
	d.taker.Lock() // no rescue is under way, nor will one find the reactor open
	defer d.taker.Unlock()
	defer d.group.Inert.Drop()
	return d.R.Close()
}

// Trim frees what the driver keeps for later use, between two polls.
func (d *Driver) Trim() { d.chunks, d.Packets = nil, nil }

// Via is the driver through whose reactor an operation goes that this worker
// has for a descriptor at home with another; nil: with none yet.
func (d *Driver) Via(home *Driver) *Driver {
	if home == nil || home == d || home.R.Carrier(d.R) == d.R {
		return d
	}
	return home
}

// Submit submits an operation to the reactor of any driver.
func (d *Driver) Submit(to *Driver, op reactor.Op) error {
	d.Op = op
	if iosync.Enabled && (op.Kind == reactor.Send || op.Kind == reactor.SendTo) {
		iosync.BeforeSend()
	}
	err := to.R.Submit(&d.Op)
	d.Op.Buf, d.Op.Addr, d.Op.Batch = nil, nil, nil
	return err
}

// Cancel ends an operation that went to the reactor of that driver.
func (d *Driver) Cancel(at *Driver, e *Endpoint, kind reactor.Kind) {
	_ = d.Submit(at, reactor.Op{Kind: reactor.Cancel, Target: kind, Token: e.Token, FD: e.FD}) // only a closed reactor refuses
}

// CloseFD closes a descriptor at home with that driver; nil: with none. noWait: it is known not to
// wait for anything.
func (d *Driver) CloseFD(home *Driver, fd int, noWait bool) {
	if home == nil || d.Submit(home, reactor.Op{Kind: reactor.Close, FD: fd, NoWait: noWait}) != nil {
		sock.Close(fd) // the reactor is closed
	}
}

// ChunkList is an empty list for the inbox of a connection.
func (d *Driver) ChunkList() []reactor.Buffer {
	if n := len(d.chunks); n > 0 {
		l := d.chunks[n-1]
		d.chunks = d.chunks[:n-1]
		return l
	}
	return make([]reactor.Buffer, 0, 4)
}

// Recycle takes a list back, whose buffers have been released.
func (d *Driver) Recycle(l []reactor.Buffer) {
	if cap(l) > 0 && len(d.chunks) < 64 {
		d.chunks = append(d.chunks, l[:0]) // what it held is off the heap, so need not be cleared
	}
}
