package conn

import (
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// An input is what has been received and not read. While a handler runs it is
// either a chunk, of the reactor's memory or the worker's (driver.scratch), untouched, or the
// connection's own buffer: what a handler leaves moves there, since the others are needed
// for what comes next. So it is always contiguous, and bytes are copied only when a handler
// could not use them yet.
type input struct {
	unread []byte         // lies in chunk or in own
	own    []byte         // from the pool, or nil
	chunk  reactor.Buffer // Bytes is nil: none attached
	lent   bool           // it is the worker's
}

// attach adds a chunk, of home's memory, behind what is unread. What it needs
// besides comes from d, the running worker's driver.
func (in *input) attach(d *driver, home *engine.Driver, b reactor.Buffer) {
	if len(in.unread) == 0 {
		in.dropOwn(d)
		in.chunk, in.unread = b, b.Bytes
		return
	}
	in.keep(d, b.Bytes)
	home.R.Release(b)
}

// detach ends the use of the chunk: what is unread of it is kept.
func (in *input) detach(d *driver, home *engine.Driver) {
	switch {
	case in.chunk.Bytes != nil:
		b, rest, lent := in.chunk, in.unread, in.lent
		in.chunk, in.unread, in.lent = reactor.Buffer{}, nil, false
		if len(rest) > 0 {
			in.keep(d, rest)
		}
		if !lent {
			home.R.Release(b)
		}
	case len(in.unread) == 0:
		in.dropOwn(d)
	}
}

// keep copies bytes behind what is unread, which lies in own.
func (in *input) keep(d *driver, p []byte) {
	if start := len(in.own) - len(in.unread); start > 0 && cap(in.own)-len(in.own) < len(p) {
		n := copy(in.own, in.unread) // what was read makes room
		in.own = in.own[:n]
	}
	unread := len(in.unread)
	in.own = append(d.buffers.Grow(in.own, len(p)), p...)
	in.unread = in.own[len(in.own)-unread-len(p):]
}

func (in *input) dropOwn(d *driver) {
	d.buffers.Put(in.own)
	in.own, in.unread = nil, nil
}

// borrow is room for more in the worker's memory, of which it uses that much, behind a copy of what is unread. No chunk is
// attached, and nothing changes before fill.
func (in *input) borrow(d *driver, most int) []byte {
	room := d.room(most)
	return room[copy(room, in.unread):]
}

// room is that much of the worker's memory for what tasks receive themselves.
func (d *driver) room(most int) []byte {
	if len(d.scratch) < most {
		d.scratch = make([]byte, most)
	}
	return d.scratch[:most]
}

// fill makes that the chunk, after n bytes were put into the room.
func (in *input) fill(d *driver, n int) {
	n += len(in.unread)
	in.dropOwn(d)
	in.chunk, in.lent, in.unread = reactor.Buffer{Bytes: d.scratch[:n]}, true, d.scratch[:n]
}

// space is room for n bytes at least behind what is unread: little for little, since it is kept as long as
// the handler leaves something in it.
func (in *input) space(d *driver, n int) []byte {
	unread := len(in.unread)
	if start := len(in.own) - unread; start > 0 && cap(in.own)-len(in.own) < n {
		in.own = in.own[:copy(in.own, in.unread)]
	}
	in.own = d.buffers.Grow(in.own, n)
	in.unread = in.own[len(in.own)-unread:]
	return in.own[len(in.own):cap(in.own)]
}

// extend adds the n bytes that were put into the space.
func (in *input) extend(n int) {
	unread := len(in.unread)
	in.own = in.own[:len(in.own)+n]
	in.unread = in.own[len(in.own)-unread-n:]
}
