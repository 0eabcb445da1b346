package core

import (
	"cmp"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// A connection with no receive in flight would not notice a reset by its peer. After the peer's FIN
// nothing receives any more, and while reading is paused nothing does yet. Then a reactor.Hangup is
// in flight, which leaves received bytes in the kernel.
//
// A reset ends a paused connection at once, even if bytes arrived before it. It does not end a
// paused Stream, Socket or splice: its reader gets the bytes that arrived before the reset. A
// Socket is watched only if NotifyEnd has a function to call.
//
// The Hangup stays in flight when reading is resumed. The receive then reports a reset, after the
// bytes before it. hung keeps the result in case reading is paused again before that.

// A watch is a Hangup in flight and its result. It lies in the extras. The task alone has it.
type watch struct {
	at   *engine.Driver // where the Hangup went; nil: none is in flight
	hung bool           // it has reported a reset
}

// watched reports whether a reset has to be noticed without a receive.
func watched(c *Conn) bool {
	if !c.Reading.Is(Ended|UserPaused|starved) || !c.Is(Opened) || c.Is(Closing|Broken) || c.Reading.Is(receiving|polling) {
		return false
	}
	return c.Reading.Is(Ended) || !c.consumer.ReadsBeforeReset()
}

// begin puts a Hangup in flight for a connection that is watched.
func (w *watch) begin(c *Conn) {
	if w.at != nil || w.hung {
		return
	}
	w.at = c.Driver.Via(c.Home)
	if c.Home == nil { // its first operation: the reactor has to hear of the close
		c.Home = w.at
	}
	c.submit(w.at, reactor.Op{Kind: reactor.Hangup, FD: c.Endpoint.FD, Token: c.Endpoint.Token, TCP: c.overTCP()})
	if c.Is(Broken) {
		w.at = nil
		c.Driver.Cx.Wake(c.Task.Waker()) // settle has passed the tearing down
	}
}

// watching reports whether a Hangup is in flight.
func (x *extras) watching() bool { return x != nil && x.watch.at != nil }

// cancel cancels the Hangup in flight.
func (w *watch) cancel(c *Conn) { c.Driver.Cancel(w.at, &c.Endpoint, reactor.Hangup) }

// hear deals with the result of the Hangup.
func (w *watch) hear(n *runInput) {
	if n.Signs.Is(watchHung) {
		w.hung = true
	}
	if n.Signs.Is(watchOver) {
		w.at = nil
	}
}

// act ends a connection after a reset by its peer, if no receive is going to report it. A paused
// Socket only learns of the reset here, and the receive ends it later.
func (w *watch) act(c *Conn) {
	if !w.hung || !watched(c) || c.Filter().started() { // the end of a handshake comes back here
		return
	}
	if c.readers != nil {
		if !c.Reading.Is(Ended) {
			c.readers.Hung()
			return
		}
		if c.Reading.Is(Unoffered) {
			c.Offer()
		}
	}
	if c.Reading.Is(Unoffered) && !c.Reading.Is(UserPaused) { // the run that has offered it comes here
		return
	}
	errno := cmp.Or(sock.TakeError(c.Endpoint.FD), syscall.ECONNRESET)
	if errno == syscall.EPIPE { // Linux' name for a reset that follows a FIN
		errno = syscall.ECONNRESET
	}
	c.Fail(c.SysError("read", "recv", errno))
}

// Look implements engine.Suspect.
func (t *connTarget) Look(l *sock.Look) bool {
	fd, open := (*Conn)(t).believe()
	if open {
		l.Add(fd, !(*Conn)(t).overTCP())
	}
	return open
}

// Overlooked implements engine.Suspect.
func (t *connTarget) Overlooked(by *engine.Driver) {
	(*Conn)(t).sign(watchEnded)
	by.Cx.Wake(t.Task.Waker())
}

// DoubtAgain implements engine.Suspect.
func (t *connTarget) DoubtAgain(by *engine.Driver) { (*Conn)(t).doubt(DriverOf(by)) }
