package core

import "github.com/suiro-go/suiro/internal/bufs"

// A peer may send requests and close without waiting for the answers. Then a send fails while
// requests are still in the kernel. Package net delivers those, and so does a connection: a failed
// send ends the output, and SendFailed is set. Bytes that are written from then on are dropped. The
// task itself receives until nothing is left, and then ends the connection. It does so earlier if
// nothing can be delivered for Config.LingerTimeout, since the other peer of a splice takes
// nothing.
//
// A handler that has paused the reading, or that has closed the connection, wants no more. A Stream
// and a Socket pause the reading while nobody reads, and go on with it. Their writes fail from then
// on. Their connection ends when its users close it, when Config.IdleTimeout has passed, or when
// they have read all of its input.

// FailSend ends a connection after a send that has failed with err. The peer sees a reset, since
// after a FIN it would take its part for the whole.
func (c *Conn) FailSend(err error) {
	if c.Is(SendFailed) {
		return
	}
	if !c.outlivesSend() {
		c.FailWrite(err)
		return
	}
	x := c.More()
	if x.Cause == nil {
		x.Cause = err
	}
	c.Set(Reset | SendFailed)
	if c.isRead() {
		c.consumer.SendFailed(x.Cause)
	} else {
		x.Clock.lingerRest(c)
	}
	c.Reading.Become(0)
	c.Driver.Cx.Wake(c.Task.Waker()) // for readRest
}

// outlivesSend reports whether a handler that takes more bytes may get some.
func (c *Conn) outlivesSend() bool {
	switch {
	case c.Is(Closing | Broken), c.stopsReading(), c.Reading.Is(Ended) && !c.Reading.Is(Unoffered):
		return false
	case c.Is(consumed) && c.passer == nil && !c.isRead():
		return false
	}
	return c.Filter() == nil || c.Filter().Decrypts()
}

// stopsReading reports whether the handler wants nothing more.
func (c *Conn) stopsReading() bool {
	return c.Reading.Is(ReadClosed) || c.Reading.Is(UserPaused) && !c.isRead()
}

// isRead reports whether a Stream or a Socket has the input, whose readers come when they like.
func (c *Conn) isRead() bool {
	return c.passer == nil && c.consumer.ReadsBeforeReset()
}

// dropOutput drops all written bytes. A flight ends by itself.
func (w *writer) dropOutput() {
	c := w.c
	w.Out.Drop(&c.Driver.Buffers)
	c.Reading.Clear(Paused)
}

// settleRest is settle with SendFailed.
func (c *Conn) settleRest() (done bool) {
	if c.Is(Broken) {
		return tearDown(c)
	}
	c.dropOutput()
	armClock(c)
	return false
}

// readRest goes on with the input of a connection with SendFailed. No receive is in flight when it
// reads, so all chunks have been dealt with, unless the run is spent.
func (r *reader) readRest() {
	c := r.c
	c.dropOutput() // else it may pause the reading, and nothing would end that
	switch {
	case c.Reading.Is(receiving | polling):
		if !c.Reading.Is(stopping) {
			r.stopReceiving()
		}
	case c.Is(Closing) || c.stopsReading():
		c.Set(Broken)
	case c.Reading.Is(UserPaused): // the end of the pause wakes the task
	case c.spent():
		c.Driver.Cx.Wake(c.Task.Waker())
	case c.Reading.Is(waiting): // its end wakes the task
	case c.Reading.Is(Unoffered) || r.In.Attached(): // of a Stream the last chunk, which its turn would take
		r.Offer()
		c.Driver.Cx.Wake(c.Task.Waker())
	case c.Reading.Is(Ended) || !r.readNow(bufs.Large):
		c.Set(Broken)
	default:
		c.Driver.Cx.Wake(c.Task.Waker())
	}
}
