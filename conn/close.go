package conn

import (
	"errors"
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

var (
	errAborted = engine.ErrAborted
	errGone    = engine.ErrGone
)

// Close ends the connection in order: it sends all written bytes, then a FIN. With the peer's FIN
// the connection is over. Until then up to 2 MiB that still arrive are dropped. Left unread, they
// would cause a reset, which could cost the peer the last bytes. Beyond 2 MiB nothing more is
// received, and the peer is reset as soon as it has taken all output. Config.Linger, or SetLinger,
// bounds the wait. A second Close returns an error that matches net.ErrClosed and does nothing.
func (c *Conn) Close() error {
	switch {
	case c.is(closing | broken):
		return c.opError("close", net.ErrClosed)
	case !c.is(opened): // still connecting: there is nothing to end in order
		c.fail(c.opError("dial", net.ErrClosed))
		return nil
	case c.extras != nil && c.extras.clock.Patience < 0:
		c.set(reset)
		c.fail(nil)
		return nil
	}
	c.set(closing)
	c.reading.clear(waiting)
	if c.extras != nil {
		c.extras.clock.Reset()
	}
	// Otherwise there is nothing to wait for. TLS has its own end of stream still to send.
	if !c.reading.is(ended) || c.Unsent() > 0 || c.filter() != nil {
		c.linger()
	}
	return nil
}

// CloseWrite ends writing: all written bytes are sent, then a FIN, and reading goes on. Once the
// peer's FIN has been seen as well the connection is over. A second call, or one after Close,
// returns an error that matches net.ErrClosed and does nothing.
func (c *Conn) CloseWrite() error {
	if c.is(mute | closing | broken) {
		return c.opError("close", net.ErrClosed)
	}
	c.set(mute)
	return nil
}

// CloseRead ends reading: buffered bytes are dropped, and so are those that still arrive, without a
// word to the peer. OnData and OnEOF are not called any more. A second call, or one after Close,
// returns an error that matches net.ErrClosed and does nothing.
func (c *Conn) CloseRead() error {
	if c.is(closing|broken) || c.reading.is(deaf) {
		return c.opError("close", net.ErrClosed)
	}
	c.reading.set(deaf)
	c.reading.clear(held | unseen)
	c.in.Unread = nil
	return nil
}

// Abort ends the connection at once: unsent bytes are dropped, and the peer sees a reset.
func (c *Conn) Abort() {
	c.set(reset)
	c.fail(errAborted)
}

// failWrite ends a connection with unsent bytes. The peer sees a reset, since after a FIN it would
// take its part for the whole.
func (c *Conn) failWrite(err error) {
	c.set(reset)
	c.fail(err)
}

// cut reports whether the connection ends with something that was written and not sent,
// or after a goroutine's send that has failed. What was in flight, sendEnd has seen.
func (c *Conn) cut() bool {
	memory, files := c.pending()
	return c.inbox.right.HasFailed() || len(c.out.Queued)+memory+c.filter().sealed() > 0 || files > 0
}

// fail ends the connection without further ado.
func (c *Conn) fail(err error) {
	if x := c.more(); x.cause == nil {
		x.cause = err
	}
	c.set(broken)
}

// check closes the connection if the handler returned an error.
func (c *Conn) check(err error) {
	if err != nil {
		c.conclude(c.returned(c.handler, err))
	}
}

// returned counts and logs an error of a handler, and returns it. One that is returned once the
// connection is broken is of that, not of the handler.
func (c *Conn) returned(handler any, err error) error {
	if err != nil && !c.is(broken) {
		c.group.core.HandlerFailed(err, handler, c.is(closing), c.logAttr())
	}
	return err
}

// conclude closes the connection in order, with err as its cause; nil is none.
func (c *Conn) conclude(err error) {
	if err != nil && !c.is(closing|broken) {
		c.more().cause = err
		_ = c.Close()
	}
}

// finish goes on with an orderly close, or half of one, once everything is sent.
// When both sides have said that they are done, the connection is over.
func (c *Conn) finish() {
	switch {
	case c.is(closing) && c.reading.is(ended), c.cut(): // close sends our FIN, or a reset
		c.set(broken)
	case !c.is(finished):
		c.set(finished)
		if c.is(closing) {
			c.linger()
		}
		switch err := sock.ShutdownWrite(c.end.FD); {
		case err == nil:
		case !errors.Is(err, syscall.ENOTCONN):
			c.fail(c.opError("close", err))
		case c.is(closing): // the peer has reset it meanwhile
			c.set(broken)
		} // else the receive is about to say so
	}
}

// tearDown cancels the operations in flight and, once all of them have ended, ends the connection.
// It reports whether that is the case. If not, the task runs again with the next completion.
func (c *Conn) tearDown() (done bool) {
	if c.is(connecting) && !c.reading.is(stopping) {
		c.reading.set(stopping)
		c.driver.Cancel(c.outgoing, &c.end, reactor.Connect)
	}
	if c.reading.is(receiving|polling) && !c.reading.is(stopping) {
		c.stopReceiving()
	}
	racing := c.extras != nil && !c.endRace()
	c.mu.Lock()
	held, first := c.inbox.right.Close()
	flying := held == sending.Operation
	at := c.outgoing
	if flying && c.inbox.lent != nil {
		at = c.inbox.lent
	}
	c.inbox.takes = takesNothing
	c.inbox.reckon(c.group)
	c.mu.Unlock()
	if first && flying {
		c.driver.Cancel(at, &c.end, reactor.Send)
	}
	if first && c.is(awaiting) {
		c.driver.Cancel(c.outgoing, &c.end, reactor.Writable)
	}
	if first && c.watching() {
		c.unwatch()
	}
	if held != sending.Nobody || racing || c.is(connecting|awaiting) || c.reading.is(receiving|polling) || c.watching() {
		return false
	}
	if !c.consumer().departs(c) {
		return false
	}
	c.over()
	return true
}

// over is the end of the connection: it calls the handler, then gives everything back. Nothing is
// in flight, and the inbox takes no commands.
func (c *Conn) over() {
	if c.cut() {
		c.set(reset)
	}
	c.lateSplice()
	c.tellOver()
	c.driver.telling = nil // the handler has not ended the goroutine
	if c.extras != nil {
		c.extras.alarm.Stop(c.group.rt)
		c.group.leaveLine(&c.extras.place)
	}
	d := c.driver
	c.out.Drop(&d.buffers)
	if r := c.spliced(); r != nil {
		r.owed = 0 // it was discarded with OnClose; else it would stay in the ledger
	}
	c.detach()
	c.in.Drop(&d.buffers)
	c.group.core.Table.Remove(&c.end)
	if c.end.FD >= 0 { // else it was being dialed
		if c.is(reset) {
			sock.ResetOnClose(c.end.FD)
		}
		if c.duplicated() {
			sock.End(c.end.FD, c.is(reset))
		}
		d.CloseFD(c.home, c.end.FD, c.is(prompt))
	}
	c.end.FD = -1
	c.group.leave(c)
}

func (c *Conn) tellOver() {
	for c.extras != nil && len(c.extras.notifySent) > 0 { // again after a panic
		c.tellUnsent()
	}
	defer c.tellClosed()
	defer c.recoverPanic()
	c.driver.telling = c
	c.handler.OnClose(c, c.cause())
}

func (c *Conn) tellClosed() {
	for c.extras != nil && len(c.extras.notifyClose) > 0 {
		f := c.extras.notifyClose[0]
		c.extras.notifyClose = c.extras.notifyClose[1:]
		c.call(f)
	}
}

func (c *Conn) call(f func()) {
	defer c.recoverPanic()
	f()
}

func (c *Conn) tellUnsent() {
	defer c.recoverPanic()
	err := c.cause()
	if err == nil {
		err = c.opError("write", net.ErrClosed)
	}
	c.notifySent(err)
}
