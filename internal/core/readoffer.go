package core

import (
	"errors"
	"io"
	"syscall"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// spent reports whether OnData ought to be called and this run may not: it has
// done so often enough.
func (r *reader) spent() bool {
	return r.c.Driver.budget <= 0 && !r.c.Is(Closing|Broken) && !r.c.Reading.Is(waiting)
}

// receive takes one chunk of bytes.
func (r *reader) receive(b reactor.Buffer) {
	c := r.c
	f := c.Filter()
	decrypts := f.Decrypts()
	switch {
	case c.Is(Closing|Broken) || c.Reading.Is(ReadClosed) || decrypts && f.Session.Ended():
		c.drop(len(b.Bytes))
		c.Home.R.Release(b)
	case decrypts:
		f.decipher(c, b.Bytes)
		c.Home.R.Release(b)
		f.offer(c)
	case c.Reading.Is(waiting):
		c.Reading.Set(Unoffered)
		r.AddChunk(b)
		r.detach()
	default:
		c.consumer.Came(c, b)
	}
}

// AddChunk adds a chunk behind the unread bytes.
func (r *reader) AddChunk(b reactor.Buffer) { r.In.Attach(&r.c.Driver.Buffers, r.c.Home.R, b) }

// detach ends the use of memory that is not the connection's own: unread bytes there are copied.
func (r *reader) detach() {
	var home reactor.Reactor
	if r.c.Home != nil { // else no chunk can have arrived
		home = r.c.Home.R
	}
	r.In.Detach(&r.c.Driver.Buffers, home)
}

// Offer calls OnData, and again as long as it reads and MaxRead bytes are left.
// If it has to stop before, Unoffered says that there is something to go on with.
func (r *reader) Offer() {
	c := r.c
	c.Reading.Clear(Unoffered)
	cfg := &c.Group.Config
	for {
		before := len(r.In.Unread)
		c.Driver.budget--
		err := c.Group.Events.OnData(c)
		r.detach()
		left := len(r.In.Unread)
		switch {
		case err != nil:
			c.Check(err)
		case left >= cfg.MaxRead && left == before && !c.Reading.Is(UserPaused|ReadClosed):
			c.Conclude(ErrReadBufferFull)
		}
		if !c.Is(Closing|Broken) && c.Unsent() > cfg.HighWater && !c.readsOn() {
			c.Reading.Set(Paused)
		}
		if left < cfg.MaxRead || c.Is(Closing|Broken) || c.Reading.Is(ReadClosed) {
			return
		}
		if c.Reading.Is(waiting) || r.spent() {
			c.Reading.Set(Unoffered)
			return
		}
	}
}

// offerEnd tells the handler of the peer's FIN, once it has been offered all bytes before that. An
// error that came during the handshake ends the connection.
func (r *reader) offerEnd() {
	c := r.c
	if c.Is(Closing|Broken) || c.Reading.Is(EndSeen|Unoffered|UserPaused) {
		return
	}
	c.Reading.Set(EndSeen)
	if c.Reading.Is(ReadClosed) {
		return
	}
	switch err := c.Filter().EOF(); {
	case err == io.EOF:
		c.Check(c.Group.Events.OnEOF(c))
	case err == errTruncated:
		c.Check(c.OpError("read", err))
	default:
		c.Fail(err)
	}
}

// recvEnd deals with the end of a receive: the peer's FIN, an error, or none.
func (r *reader) recvEnd(errno syscall.Errno) {
	c := r.c
	c.Reading.Clear(receiving | stopping)
	if errno == 0 && r.hidesReset() {
		errno = syscall.ECONNRESET
	}
	switch errno {
	case 0:
		c.Reading.Set(Ended)
	case syscall.ECANCELED, syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		// arm receives again if that is wanted
	default:
		// Shaking is asked first, since making the error costs a system call.
		if f := c.Filter(); f.Shaking() && f.outlives(c.SysError("read", "recv", errno)) {
			c.Reading.Set(Ended | EndSeen)
			return
		}
		if (c.Reading.Is(Unoffered) || r.In.Attached()) && !c.Is(Closing|Broken) && (!c.Reading.Is(UserPaused) || c.readers != nil) {
			c.Set(SendFailed) // the send in flight fails, too: answers must not fill the queue
			r.Offer()         // bytes that arrived before the error are not lost with it
		}
		if c.Is(Closing) && c.Is(Finished) { // we had said goodbye already
			c.Set(Broken)
			return
		}
		if errors.Is(c.Cause(), syscall.EPIPE) {
			// the send got only a general error because the reason had gone to this receive
			c.Extras.Cause = nil
		}
		if errno == syscall.ENOMEM { // bytes may be lost, and a FIN would hide that from the peer
			c.Set(Reset)
		}
		c.Fail(c.SysError("read", "recv", errno))
	}
}

// hidesReset reports whether the peer's FIN, as it seems, is a reset whose error a send has taken.
// With a splice another task sends, and this one may not know of the failure yet.
func (r *reader) hidesReset() bool {
	c := r.c
	return (c.Is(SendFailed) || c.Spliced() != nil) && !c.Is(Finished) && sock.WasReset(c.Endpoint.FD)
}

// drop counts bytes that arrive after Close. If they are too many, nothing more is received.
func (r *reader) drop(n int) {
	c := r.c
	if c.Is(Closing) && !c.Is(Broken) && c.More().Clock.Drop(n) {
		c.Reading.Set(UserPaused | Unoffered) // nothing clears these after Close
	}
}
