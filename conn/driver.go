package conn

import (
	"time"

	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A Driver joins a worker with its reactor: it passes completions on to the
// connections they belong to. The worker's goroutine alone uses it.
type Driver struct {
	group *Group
	r     reactor.Reactor
	cx    *sched.Context // the worker's

	completions [256]reactor.Completion
	op          reactor.Op // for submit: an Op passed to an interface would go to the heap
	buffers     bufferPool
	chunks      [][]reactor.Buffer // empty lists for inboxes
}

var _ sched.Driver = (*Driver)(nil)

func newDriver(g *Group) (*Driver, error) {
	r, err := reactor.Open(g.cfg.Reactor)
	if err != nil {
		return nil, err
	}
	return &Driver{group: g, r: r}, nil
}

// Poll implements sched.Driver.
func (d *Driver) Poll(cx *sched.Context, wait time.Duration, hold bool) (int, error) {
	d.cx = cx
	n, err := d.r.Poll(d.completions[:], wait, hold)
	for i := range n {
		c := &d.completions[i]
		if e := d.group.table.get(c.Token); e != nil {
			e.target.deliver(d, c)
		} else {
			d.drop(c)
		}
	}
	return n, err
}

// drop disposes of what came for an endpoint that has gone.
func (d *Driver) drop(c *reactor.Completion) {
	switch {
	case c.Kind == reactor.Recv && c.Res > 0:
		d.r.Release(c.Buf)
	case c.Kind == reactor.Accept && c.Res >= 0:
		d.close(c.Res)
	}
}

// Wake implements sched.Driver.
func (d *Driver) Wake() {
	if err := d.r.Wake(); err != nil {
		d.group.cfg.Logger.Error("conn: waking a reactor", "error", err)
	}
}

// Close implements sched.Driver.
func (d *Driver) Close() error { return d.r.Close() }

func (d *Driver) submit(op reactor.Op) error {
	d.op = op
	err := d.r.Submit(&d.op)
	d.op.Buf, d.op.Addr = nil, nil
	return err
}

func (d *Driver) cancel(e *endpoint, kind reactor.Kind) {
	_ = d.submit(reactor.Op{Kind: reactor.Cancel, Target: kind, Token: e.token, FD: e.fd}) // only a closed reactor refuses
}

func (d *Driver) close(fd int) {
	_ = d.submit(reactor.Op{Kind: reactor.Close, FD: fd}) // only a closed reactor refuses
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
