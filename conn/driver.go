package conn

import (
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/iosync"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Driver joins a worker with its reactor: it passes completions on to the
// connections they belong to.
//
// A connection's task runs on any worker, and uses what is that worker's: its
// context, its pools, and for what it submits the reactor that via names. What
// completes on this driver's reactor is mostly passed on by its worker, and by
// another one (Rescue) while that is stuck. taker is held from the taking of
// completions to the delivery of the last: so a connection's inbox, as far as it
// comes from one reactor, is filled by one worker at a time and in order. The
// owner holds it also while it waits, so that a rescuer cannot take from under
// it the completion, or the wake-up, that it waits for.
type Driver struct {
	group  *Group
	worker int             // whose it is
	r      reactor.Reactor // its methods say who may call them
	taker  sync.Mutex      // guards taking completions from r

	// The worker's goroutine alone, for whichever reactor it works.
	cx          *sched.Context // the worker's
	completions [perPoll]reactor.Completion
	op          reactor.Op // for submit: an Op passed to an interface would go to the heap
	budget      int        // calls of OnData left to the task that runs
	telling     *Conn      // whose OnClose is being called
	keeps       bool       // what has completed is not worth another worker's wake-up, see through
	news        bool       // which has been brought bytes, or the end of its receive
	buffers     bufs.Pool
	backlogs    bufs.FreeList[backlog]
	mails       bufs.FreeList[mail]
	chunks      [][]reactor.Buffer // empty lists for inboxes
	batches     []*reactor.Batch   // empty ones, for packet sockets
	packets     []Packet           // what a packet handler is given
	scratch     []byte             // what tasks receive into themselves, see readNow; nil: none has
}

// perPoll is how many completions a poll brings: few enough that the same tick runs the
// tasks they are for, while what has come for those is in the cache. With more than a tick
// runs, a backlog grows until it overflows the worker's queue.
const perPoll = 64

var (
	_ sched.Driver  = (*Driver)(nil)
	_ sched.Rescuer = (*Driver)(nil)
)

func newDriver(g *Group, worker int) (*Driver, error) {
	r, err := reactor.Open(g.cfg.Reactor)
	if err != nil {
		return nil, err
	}
	return &Driver{group: g, worker: worker, r: r, buffers: bufs.Pool{Ration: g.ration}}, nil
}

// Poll implements sched.Driver.
func (d *Driver) Poll(cx *sched.Context, wait time.Duration, hold bool) (int, error) {
	d.cx = cx
	d.taker.Lock()
	defer d.taker.Unlock()
	n, err := d.r.Poll(d.completions[:], wait, hold)
	d.pass(d, n)
	return n, err
}

// Rescue implements sched.Rescuer.
func (d *Driver) Rescue(cx *sched.Context) int {
	if !d.taker.TryLock() {
		return 0
	}
	defer d.taker.Unlock()
	by := cx.Driver().(*Driver)
	by.cx = cx
	n, err := d.r.Rescue(by.completions[:])
	if err != nil {
		n = 0 // the owner will meet the same error, and has the say about it
	}
	d.pass(by, n)
	return n
}

// pass delivers n completions of this driver's reactor on the worker that has
// taken them.
func (d *Driver) pass(by *Driver, n int) {
	by.keeps = d == by && d.cx.Keeps(n)
	for i := range n {
		c := &by.completions[i]
		if iosync.Enabled && (c.Kind == reactor.Recv || c.Kind == reactor.RecvFrom) {
			iosync.AfterReceive()
		}
		if e := d.group.table.get(c.Token); e != nil {
			e.target.deliver(by, c)
		} else {
			d.drop(c)
		}
	}
}

// drop disposes of what came for an endpoint that has gone.
func (d *Driver) drop(c *reactor.Completion) {
	switch {
	case c.Kind == reactor.Recv && c.Res > 0, c.Kind == reactor.RecvFrom && c.Res >= 0:
		d.r.Release(c.Buf)
	case c.Kind == reactor.Accept && c.Res >= 0:
		sock.Close(c.Res) // no reactor knows it yet
	}
}

// Wake implements sched.Driver.
func (d *Driver) Wake() {
	if err := d.r.Wake(); err != nil {
		d.group.cfg.Logger.Error("conn: waking a reactor", "error", err)
	}
}

// Close implements sched.Driver.
func (d *Driver) Close() error {
	d.taker.Lock() // no rescue is under way, nor will one find the reactor open
	defer d.taker.Unlock()
	return d.r.Close()
}

// via is the driver through whose reactor an operation goes that this worker
// has for a descriptor at home with another; nil: with none yet.
func (d *Driver) via(home *Driver) *Driver {
	if home == nil || home == d || home.r.Carrier(d.r) == d.r {
		return d
	}
	return home
}

// submit submits an operation to the reactor of any driver.
func (d *Driver) submit(to *Driver, op reactor.Op) error {
	d.op = op
	if iosync.Enabled && (op.Kind == reactor.Send || op.Kind == reactor.SendTo) {
		iosync.BeforeSend()
	}
	err := to.r.Submit(&d.op)
	d.op.Buf, d.op.Addr, d.op.Batch = nil, nil, nil
	return err
}

// cancel ends an operation that went to the reactor of that driver.
func (d *Driver) cancel(at *Driver, e *endpoint, kind reactor.Kind) {
	_ = d.submit(at, reactor.Op{Kind: reactor.Cancel, Target: kind, Token: e.token, FD: e.fd}) // only a closed reactor refuses
}

// close closes a descriptor at home with that driver; nil: with none. prompt: that is known not to wait for anything.
func (d *Driver) close(home *Driver, fd int, prompt bool) {
	if home == nil || d.submit(home, reactor.Op{Kind: reactor.Close, FD: fd, Prompt: prompt}) != nil {
		sock.Close(fd) // the reactor is closed
	}
}

// chunkList is an empty list for the inbox of a connection.
func (d *Driver) chunkList() []reactor.Buffer {
	if n := len(d.chunks); n > 0 {
		l := d.chunks[n-1]
		d.chunks = d.chunks[:n-1]
		return l
	}
	return make([]reactor.Buffer, 0, 4)
}

// recycle takes a list back, whose buffers have been released.
func (d *Driver) recycle(l []reactor.Buffer) {
	if cap(l) > 0 && len(d.chunks) < 64 {
		d.chunks = append(d.chunks, l[:0]) // what it held is off the heap, so need not be cleared
	}
}
