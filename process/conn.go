package process

import (
	"cmp"
	"fmt"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/mpsc"
)

// A ConnHandler is a conn.Handler whose connections are processes. All methods are called for one
// connection by one goroutine at a time.
type ConnHandler interface {
	conn.Handler

	// OnStart is called before OnOpen. self is the connection's process, valid in all methods until
	// OnClose has returned. Its PID is the address of the connection. If the System shuts down,
	// neither of the two is called, and the connection ends with ErrShutdown.
	OnStart(c *conn.Conn, self *Self) error

	// OnEvent is called with each event that other processes cause, except for cancel events: these
	// call OnDrain. An error closes the connection, as one of OnData does.
	OnEvent(c *conn.Conn, ev Event) error
}

// Handler makes each connection of h a process of s: it has a PID and a mailbox, so that any
// process can send to it. It has no task of its own, but runs in that of the connection. It is Idle
// between two calls of h, and ends with the connection, with the error of OnClose as its reason.
// Kill aborts the connection. If the connection gets another handler, h still gets the events of
// the process. Of the Options, Mailbox and Overflow count.
//
// To send one message to very many connections, encode it once, Publish the bytes, and give them to
// Conn.WriteNow in OnEvent: the kernel then takes them from where they are.
func Handler(s *System, h ConnHandler, o Options) conn.Handler {
	return &connStarter{h, s, o}
}

// A connStarter is the handler of new connections.
type connStarter struct {
	ConnHandler
	sys     *System
	options Options
}

var _ conn.Wrapper = (*connStarter)(nil)

// Unwrap implements conn.Wrapper.
func (h *connStarter) Unwrap() conn.Handler { return h.ConnHandler }

// HandlerName is the name of the handler within, for the log.
func (h *connStarter) HandlerName() string { return nameOf(h.ConnHandler) }

func nameOf(h ConnHandler) string {
	if named, ok := h.(interface{ HandlerName() string }); ok {
		return named.HandlerName()
	}
	return fmt.Sprintf("%T", h)
}

// OnOpen starts the connection's process, which is its handler from now on.
func (h *connStarter) OnOpen(c *conn.Conn) error {
	p := &connProcess{ConnHandler: h.ConnHandler, handle: c.Handle()}
	p.proc.init(h.sys, nil, &h.options)
	p.proc.wake = p.resume
	p.run = p.events
	p.proc.state.Begin()
	if err := c.SetHandler(p); err != nil {
		return err
	}
	if err := h.sys.add(&p.proc); err != nil {
		return err
	}
	c.NotifyClose(func() { p.ends(c) })
	err := p.OnStart(c, &p.proc.self)
	if err == nil {
		err = p.ConnHandler.OnOpen(c)
	}
	p.failed = err != nil
	p.settle()
	return err
}

// A connProcess is the handler of one connection, and its process. The connection's task runs both.
type connProcess struct {
	proc
	ConnHandler
	handle conn.Handle
	run    func(*conn.Conn) // events, made once
	reason error            // the error of OnEvent that has closed the connection
	failed bool             // it was not opened: events do not count, except for a kill
}

// Unwrap implements conn.Wrapper.
func (p *connProcess) Unwrap() conn.Handler { return p.ConnHandler }

// HandlerName is the name of the handler within, for the log.
func (p *connProcess) HandlerName() string { return nameOf(p.ConnHandler) }

// resume makes the connection's task call events. While too many functions wait for that task, it
// tries again later.
func (p *connProcess) resume() {
	if p.handle.Do(p.run) == conn.ErrTooManyCalls {
		p.sys.rt.AfterFunc(resumeAgain, p.resume)
	}
}

const resumeAgain = time.Millisecond

// events gives the waiting events to the handler, up to batchSize of them.
func (p *connProcess) events(c *conn.Conn) {
	p.state.Begin()
	if p.killed.Load() != nil {
		c.Abort()
		return
	}
	if p.failed {
		p.settle()
		return
	}
	p.lockMail()
	p.collect()
	p.dropAnswers()
	p.unlockMail()
	for range batchSize {
		ev, ok := p.receive(anything)
		if !ok {
			break
		}
		if ev.Type == EventCancel {
			p.OnDrain(c)
			continue
		}
		if err := p.OnEvent(c, ev); err != nil && c.Close() == nil { // else it was closed before
			p.reason = err
		}
	}
	p.settle()
}

// settle makes the process idle, or calls events again. One that was not opened waits for a kill.
func (p *connProcess) settle() {
	to := mpsc.Idle
	p.lockMail()
	switch {
	case p.failed:
		to = mpsc.Blocked
	case p.pending != nil:
		to = mpsc.Ready
	}
	p.unlockMail()
	if p.state.Settle(to) {
		p.resume()
	}
}

// OnClose gives the handler the reason of the end.
func (p *connProcess) OnClose(c *conn.Conn, err error) {
	p.ConnHandler.OnClose(c, cmp.Or(p.reason, err))
}

// ends ends the process, once the connection has ended, whichever handler that has by then.
func (p *connProcess) ends(c *conn.Conn) {
	reason := cmp.Or(p.reason, c.Life().Err)
	if killed := p.killed.Load(); killed != nil {
		reason = *killed
	}
	p.finish(reason)
}
