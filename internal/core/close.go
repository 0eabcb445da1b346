package core

import (
	"net"

	"github.com/suiro-go/suiro/internal/engine"
)

var (
	errAborted = engine.ErrAborted
	ErrGone    = engine.ErrGone
)

// Close is Conn.Close of package conn.
func (c *Conn) Close() error {
	switch {
	case c.Is(Closing | Broken):
		return c.OpError("close", net.ErrClosed)
	case !c.Is(Opened): // still connecting: there is nothing to end in order
		c.Fail(c.OpError("dial", net.ErrClosed))
		return nil
	case c.Extras != nil && c.Extras.Clock.Patience < 0:
		c.Set(Reset)
		c.Fail(nil)
		return nil
	}
	consumerOf(c).EndGathering()
	c.Set(Closing)
	c.EndContext(c.Cause())
	c.Reading.Clear(waiting)
	if c.Extras != nil {
		c.Extras.Clock.Reset()
	}
	// Otherwise there is nothing to wait for. TLS still sends its own end of stream (close-notify).
	if !c.Reading.Is(Ended) || c.Unsent() > 0 || c.Filter() != nil || c.ResetsAtEnd() {
		c.More().Clock.linger(c)
	}
	return nil
}

// CloseByReset closes the connection as Close does, except that the peer sees a reset and no end of
// the output. The reset waits until the peer has acknowledged all that was written, since it
// discards the rest. err is why.
func (c *Conn) CloseByReset(err error) {
	if c.Is(Closing | Broken) {
		return
	}
	x := c.More()
	x.Cause = err
	x.Clock.ResetAtEnd()
	_ = c.Close()
}

// ResetsAtEnd reports whether CloseByReset closes the connection.
func (c *Conn) ResetsAtEnd() bool { return c.Extras != nil && c.Extras.Clock.Resets() }

// CloseWrite is Conn.CloseWrite of package conn.
func (c *Conn) CloseWrite() error {
	if c.Is(WriteClosed | Closing | Broken) {
		return c.OpError("close", net.ErrClosed)
	}
	consumerOf(c).EndGathering()
	c.Set(WriteClosed)
	return nil
}

// CloseRead is Conn.CloseRead of package conn.
func (c *Conn) CloseRead() error {
	if c.Is(Closing|Broken) || c.Reading.Is(ReadClosed) {
		return c.OpError("close", net.ErrClosed)
	}
	c.Reading.Set(ReadClosed)
	c.Reading.Clear(UserPaused | Unoffered)
	c.In.Unread = nil
	return nil
}

// Abort is Conn.Abort of package conn.
func (c *Conn) Abort() {
	c.Set(Reset)
	c.Fail(errAborted)
}

// FailWrite ends a connection with unsent bytes. The peer sees a reset, since after a FIN it would
// take its part for the whole.
func (c *Conn) FailWrite(err error) {
	c.Set(Reset)
	c.Fail(err)
}

// cut reports whether the connection ends with bytes that were written and not sent, or after a
// goroutine's send that has failed. sendEnd has dealt with bytes that were in flight.
func (w *writer) cut() bool {
	memory, files := w.Pending()
	return w.c.Inbox.Right.HasFailed() || len(w.Out.Queued)+memory+w.c.Filter().sealed() > 0 || files > 0
}

// Fail ends the connection without further ado.
func (c *Conn) Fail(err error) {
	if x := c.More(); x.Cause == nil {
		x.Cause = err
	}
	c.Set(Broken)
}

// Check closes the connection if the handler returned an error.
func (c *Conn) Check(err error) {
	if err != nil {
		c.Conclude(c.Returned(c.Handler, err))
	}
}

// Returned counts and logs an error of a handler, and returns it. One that is returned once the
// connection is broken is of that, not of the handler.
func (c *Conn) Returned(handler any, err error) error {
	if err != nil && !c.Is(Broken) {
		c.Group.Engine.HandlerFailed(err, handler, c.Is(Closing), c.LogAttr())
	}
	return err
}

// Conclude closes the connection in order, with err as its cause; nil is none.
func (c *Conn) Conclude(err error) {
	if err != nil && !c.Is(Closing|Broken) {
		if x := c.More(); x.Cause == nil { // a send may have failed before
			x.Cause = err
		}
		_ = c.Close()
	}
}
