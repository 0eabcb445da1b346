package core

import (
	"errors"
	"net"
	"syscall"

	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/internal/sending"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// Finish goes on with an orderly close, or half of one, once everything is sent.
// When both sides have said that they are done, the connection is over.
func (w *writer) Finish() {
	c := w.c
	switch {
	case w.cut():
		c.Set(Broken)
	case !c.Is(Finished) && !c.Inbox.Right.Bar(): // somebody sends, and the task runs after that
	case c.ResetsAtEnd(): // see settle
		if !c.Is(Finished) {
			c.Set(Finished)
			c.Extras.Clock.linger(c)
		}
	case c.Is(Closing) && c.Reading.Is(Ended): // close sends our FIN
		c.Set(Broken)
	case !c.Is(Finished):
		c.Set(Finished)
		if c.Is(Closing) {
			c.More().Clock.linger(c)
		}
		switch err := sock.ShutdownWrite(c.Endpoint.FD); {
		case err == nil:
		case !errors.Is(err, syscall.ENOTCONN):
			c.Fail(c.OpError("close", err))
		case c.Is(Closing): // the peer has reset it meanwhile
			c.Set(Broken)
		} // else the receive is about to say so
	}
}

// tearDown cancels the operations in flight and, once all of them have ended, ends the connection.
// It reports whether that is the case. If not, the task runs again with the next completion.
func tearDown(c *Conn) (done bool) {
	if c.Is(connecting) && !c.Reading.Is(stopping) {
		c.Reading.Set(stopping)
		c.Driver.Cancel(c.outgoing, &c.Endpoint, reactor.Connect)
	}
	if c.Reading.Is(receiving|polling) && !c.Reading.Is(stopping) {
		c.stopReceiving()
	}
	racing := c.Extras.racing() && !c.Extras.dial.stop(c)
	held, at, first := c.shut()
	c.EndContext(c.Cause())
	if first && held == sending.Operation {
		c.Driver.Cancel(at, &c.Endpoint, reactor.Send)
	}
	if first && held == sending.Room {
		c.Driver.Cancel(c.outgoing, &c.Endpoint, reactor.Writable)
	}
	if first && c.Extras.watching() {
		c.Extras.watch.cancel(c)
	}
	if held != sending.Nobody || racing || c.Is(connecting) || c.Reading.Is(receiving|polling) || c.Extras.watching() {
		return false
	}
	if c.functions != nil && !c.functions.Departs(c) {
		return false
	}
	over(c)
	return true
}

// over is the end of the connection: it calls the handler, then gives everything back. Nothing is
// in flight, and the inbox takes no commands.
func over(c *Conn) {
	if c.cut() {
		c.Set(Reset)
	}
	lateSplice(c)
	lived := lifeOf(c)
	tellOver(c)
	c.startDialed()
	c.Driver.telling = nil // the handler has not ended the goroutine
	if c.Extras != nil {
		c.Extras.Clock.alarm.Stop(c.Group.Runtime)
		c.Group.leaveLine(&c.Extras.place)
	}
	d := c.Driver
	c.Out.Drop(&d.Buffers)
	if r := c.Spliced(); r != nil {
		r.Owed = 0 // it was discarded with OnClose; else it would stay in the memory budget
	}
	c.detach()
	c.In.Drop(&d.Buffers)
	c.Group.Engine.Table.Remove(&c.Endpoint)
	lived.count(d)
	c.DropContext(c.Cause())
	c.Group.tokens.cancel(c, true) // else that of the runtime would keep it
	if c.Endpoint.FD >= 0 {        // else it was being dialed
		if c.Is(Reset) {
			sock.ResetOnClose(c.Endpoint.FD)
		}
		if c.isDuplicated() {
			sock.End(c.Endpoint.FD, c.Is(Reset))
		}
		d.CloseFD(c.Home, c.Endpoint.FD, c.Is(NonblockingClose))
	}
	c.Endpoint.FD = -1
	c.Group.leave(c)
}

// tellOver calls the functions of NotifySent, OnClose, and the functions of NotifyClose.
func tellOver(c *Conn) {
	for c.Extras != nil && len(c.Extras.notifySent) > 0 { // again after a panic
		tellUnsent(c)
	}
	defer func() { c.Extras.tellClosed(c) }() // OnClose may be the first that needs extras
	c.call(func() {
		c.Driver.telling = c
		c.Group.Events.OnClose(c, c.Cause())
	})
}

// An ending is why a connection ends, and the functions that are called then. It lies in the
// extras.
type ending struct {
	Cause       error // what OnClose is given
	notifySent  []func(error)
	notifyClose []func()
}

func (x *extras) tellClosed(c *Conn) {
	for x != nil && len(x.notifyClose) > 0 {
		f := x.notifyClose[0]
		x.notifyClose = x.notifyClose[1:]
		c.call(f)
	}
}

func tellUnsent(c *Conn) { c.call(func() { c.notifySent(c.unsentCause()) }) }

// unsentCause is why nothing more is sent.
func (c *Conn) unsentCause() error {
	if err := c.Cause(); err != nil {
		return err
	}
	return c.OpError("write", net.ErrClosed)
}

// isOver reports whether OnClose is called, or has been.
func (c *Conn) isOver() bool {
	return c.pendingWork == &noPendingWork || c.Is(Broken) && c.Driver != nil && c.Driver.telling == c
}

// call calls f, which may call functions of the user. A panic ends the connection.
func (c *Conn) call(f func()) {
	p := (*PanicError)(panics.Try(f))
	if p == nil {
		return
	}
	c.Group.Engine.HandlerPanicked(p, c.Handler, c.LogAttr())
	c.detach()
	c.Fail(p)
}
