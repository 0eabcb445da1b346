package conn

import (
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/internal/sock"
)

// A relay is one end of a splice. It stands in for the connection's handler, and does only what any
// handler could do: it reads, and hands bytes over to be written. It belongs to its connection's
// task alone. Data of both ends is in Spliced, under its mutex.
type relay struct {
	Handler    // the connection's own
	core.Plain // of a consumer's parts, those that a splice has no use for
	core.Link  // the core's part
	s          *Spliced
	me         uint8 // which of the ends
	// nothing was queued or in flight, and nobody had to be woken, when the last run ended
	allSent bool
	unpiped bool // this connection's socket does not splice

	// of Stream.Splice; nil: of Splice
	socket    *Socket
	functions *streamEvents // those of a handler's Stream, which run in the task
}

var (
	_ core.Consumer = (*relay)(nil)
	_ core.Passer   = (*relay)(nil)
)

// Wraps implements core.Passer.
func (r *relay) Wraps(h any) { r.Handler = h.(Handler) }

// An end is the data that is to leave at one of the connections, and how it leaves. No wake-up is
// lost. A task that changes something for the other end, under the mutex, sets changed and then
// wakes the other's task. That task runs, clears changed, and looks.
type end struct {
	conn    *core.Conn
	changed atomic.Bool // the rest has been changed by the other end since this one has looked

	// The bytes that arrived on the other connection: data, then the contents of the pipe.
	data  flow.Transit
	raw   bool // data leaves by calls of the task's own
	pipe  *sock.Pipe
	piped int    // in the pipe; splicebulk.go says which task owns it
	moved uint64 // all that ever arrived, except passed
	eof   bool   // no more will

	unsent int   // other bytes that waited here when this end last looked
	idle   bool  // and the kernel had got all of those
	failed error // the error of a send by the other end; see passNow
	plain  bool  // it is known to be no TLS, so that descriptors may be read and written directly
	waits  bool  // the other end waits for room

	outflow deadlines.Outflow // when OtherTakes last looked

	state  endState
	resets bool // it closes by a reset
	cause  error

	open   atomic.Bool   // canPass, as of when the mutex was last given up
	passed atomic.Uint64 // bytes that have gone through, see internal/core/through.go
}

// An endState is how far a connection's end has come.
type endState uint8

const (
	endOpen    endState = iota
	endClosing          // it closes: cause may say why
	endGone             // it is torn down
)

func (r *relay) here() *end { return &r.s.ends[r.me] }

func (r *relay) there() *end { return &r.s.ends[1-r.me] }

// OnData hands received bytes over. While too much waits at the other end, nothing more is read.
func (r *relay) OnData(u *Conn) error {
	c := &u.core
	p, _ := c.Next(-1)
	r.pass(c, p)
	return nil
}

// pass hands p over.
func (r *relay) pass(c *core.Conn, p []byte) {
	to := r.there()
	r.s.mu.Lock()
	taken := to.state == endOpen
	if taken {
		to.moved += uint64(len(p))
	}
	if to.canPass() {
		r.s.unlock()
		if p = p[r.passNow(c, to, p):]; len(p) == 0 {
			return
		}
		r.s.mu.Lock()
		taken = to.state == endOpen
	}
	if taken && !to.data.Extend(p) {
		r.s.unlock()
		own := append(c.Driver.Buffers.Get(len(p)), p...)
		r.s.mu.Lock()
		if taken = to.state == endOpen; taken {
			to.data.Add(own)
		} else {
			c.Driver.Buffers.Put(own)
		}
	}
	if taken {
		r.pressure(c, to)
	}
	r.s.unlock()
	to.tell(c)
}

// waiting is how many bytes wait to leave here. The mutex is held.
func (e *end) waiting() int { return e.data.Size() + e.piped }

// pressure stops the reading if too much waits. The mutex is held, and the other end
// woken after: so it sees that it is to say when there is room.
func (r *relay) pressure(c *core.Conn, to *end) {
	if to.piped > 0 || to.data.Size()+to.unsent > c.Group.Config.HighWater {
		to.waits = true
		c.Reading.Set(core.Backed)
	}
}

// OnEOF passes the end on.
func (r *relay) OnEOF(u *Conn) error {
	c := &u.core
	to := r.there()
	r.s.mu.Lock()
	to.eof = true
	r.s.unlock()
	to.tell(c)
	return nil
}

// OnWritable does nothing: the other end learns of room by Settled.
func (r *relay) OnWritable(*Conn) error { return nil }

// OnClose leaves nothing behind that the other end would wait for.
func (r *relay) OnClose(u *Conn, err error) {
	c := &u.core
	here, there := r.here(), r.there()
	defer r.s.over()
	r.s.mu.Lock()
	here.state = endGone
	if here.cause == nil {
		here.cause = err
	}
	here.discard(c)
	if there.piped == 0 {
		there.dropPipe(c.Group, true)
	}
	r.s.unlock()
	there.tell(c)
	r.Handler.OnClose(u, err)
}

// tell makes the end's task look at the changes of c, the other one.
func (e *end) tell(c *core.Conn) {
	e.changed.Store(true)
	c.Driver.Cx.Wake(e.conn.Task.Waker())
}

// discard drops the data that was to leave here. The mutex is held.
func (e *end) discard(c *core.Conn) {
	e.data.Drop(&c.Driver.Buffers)
	if e.piped > 0 {
		e.piped = 0
		e.dropPipe(c.Group, false)
	}
}

// OtherTakes implements core.Passer. The descriptor is open while the mutex is held: OnClose of the
// other connection comes before the close, and needs the mutex.
func (r *relay) OtherTakes() bool {
	to := r.there()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if to.state == endGone {
		return false
	}
	before := to.outflow
	to.outflow = to.conn.Outflow()
	return to.outflow.MovedSince(before)
}

// Functions implements core.Consumer.
func (r *relay) Functions() core.Functions {
	if r.functions == nil {
		return nil
	}
	return r.functions.Functions()
}

// EndGathering implements core.Consumer.
func (r *relay) EndGathering() {
	if k, ok := r.Handler.(core.Consumer); ok {
		k.EndGathering()
	}
}

// Abandoned implements core.Consumer.
func (r *relay) Abandoned(c *core.Conn, err error) {
	if k, ok := r.Handler.(core.Consumer); ok {
		k.Abandoned(c, err)
	}
}

// ReadsBeforeReset implements core.Consumer.
func (r *relay) ReadsBeforeReset() bool { return true }

// Hear implements core.Passer: it learns of the other end's changes.
func (r *relay) Hear(c *core.Conn) {
	here, there := r.here(), r.there()
	if !here.changed.Load() && !c.Is(core.Finished|core.Broken|core.SendFailed) {
		return
	}
	here.changed.Store(false)
	r.allSent = false
	r.s.mu.Lock()
	if c.Is(core.Finished | core.Broken | core.SendFailed) {
		here.discard(c)
	}
	r.Owed, r.Asked = here.waiting(), here.waits
	eof, state, resets, cause, failed := here.eof, there.state, there.resets, there.cause, here.failed
	if c.Reading.Is(core.Backed) && (!there.waits || state == endGone) {
		c.GoOn()
	}
	if state == endGone {
		c.Reading.Become(0)
	}
	if !c.Reading.Is(core.TaskReads) && there.piped == 0 {
		there.dropPipe(c.Group, true)
	}
	r.s.unlock()
	if c.Is(core.Broken) {
		return
	}
	if failed != nil {
		c.FailSend(c.OpError("write", failed))
	}
	if eof && !c.Is(core.WriteClosed|core.Closing) {
		_ = c.CloseWrite()
	}
	switch {
	case state == endOpen || c.Is(core.Closing):
	case resets || state == endGone && cause != nil: // after all that has arrived
		c.CloseByReset(partnerError(c, cause))
	case state == endClosing || !(c.Reading.Is(core.Ended) && c.Is(core.WriteClosed)):
		if cause != nil {
			c.More().Cause = partnerError(c, cause)
		}
		_ = c.Close()
	}
}

// Fetch implements core.Passer: bytes become the connection's own, without a copy.
func (r *relay) Fetch(c *core.Conn) bool {
	here := r.here()
	r.s.mu.Lock()
	if here.data.Size() == 0 {
		piped := here.piped
		r.s.unlock()
		if piped == 0 {
			r.Owed = 0
			return false
		}
		return r.drain(c, piped)
	}
	if here.raw {
		r.s.unlock()
		return r.writeBuffer(c)
	}
	r.allSent = false
	b := here.data.Take()
	here.unsent += len(b)
	here.idle = false
	r.Owed = here.waiting()
	r.s.unlock()
	c.Out.Replace(&c.Driver.Buffers, b)
	return true
}

// Calm implements core.Passer: all is as it was at the end of the run before.
func (r *relay) Calm(c *core.Conn) bool {
	memory, files := c.Pending()
	return r.allSent && !c.Inbox.Right.IsQueued() && len(c.Out.Queued)+c.InFlight+memory == 0 && files == 0 && !r.Asked && !c.Is(core.WriteClosed|core.Closing|core.Broken)
}

// Settled implements core.Passer.
func (r *relay) Settled(c *core.Conn) {
	if r.Calm(c) {
		return
	}
	here, there := r.here(), r.there()
	memory, files := c.Pending()
	r.s.mu.Lock()
	wake := false
	here.unsent = len(c.Out.Queued) + c.InFlight
	here.idle = len(c.Out.Queued)+memory == 0 && files == 0 && c.Is(core.Opened) && !c.Is(core.WriteClosed|core.SendFailed)
	if here.waits && here.piped == 0 && here.data.Size()+here.unsent <= c.Group.Config.LowWater {
		here.waits, wake = false, true
		r.Asked = false
	}
	state := endOpen
	switch {
	case c.Is(core.Broken):
		state = endGone
	case c.Is(core.Closing):
		state = endClosing
	}
	if state > here.state {
		here.state, here.resets, here.cause, wake = state, c.ResetsAtEnd(), c.Cause(), true
	}
	r.allSent = here.idle && here.unsent == 0 && !here.waits && state == endOpen
	r.s.unlock()
	if state > endOpen && r.socket != nil { // now, since OnClose comes after the linger time
		r.socket.end(c.Cause())
	}
	if wake {
		there.tell(c)
	}
}

// UsersName implements core.StandIn.
func (*relay) UsersName() string { return "conn.Splice" }

// Own implements core.Own.
func (*relay) Own() {}
