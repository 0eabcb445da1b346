package conn

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
// bytes before it. hung keeps the news in case reading is paused again before that.

// watched reports whether a reset has to be noticed without a receive.
func (c *Conn) watched() bool {
	if !c.reading.is(ended|held|starved) || !c.is(opened) || c.is(closing|broken) || c.reading.is(receiving|polling) {
		return false
	}
	return c.reading.is(ended) || !c.consumer().keeps()
}

// watch puts a Hangup in flight if one is needed.
func (c *Conn) watch() {
	if !c.watched() {
		return
	}
	x := c.more()
	if x.watcher != nil || x.hung {
		return
	}
	x.watcher = c.driver.Via(c.home)
	if c.home == nil { // its first operation: the reactor has to hear of the close
		c.home = x.watcher
	}
	c.submit(x.watcher, reactor.Op{Kind: reactor.Hangup, FD: c.end.FD, Token: c.end.Token, TCP: c.overTCP()})
	if c.is(broken) {
		x.watcher = nil
		c.driver.Cx.Wake(c.task.Waker()) // settle has passed the tearing down
	}
}

// watching reports whether a Hangup is in flight.
func (c *Conn) watching() bool { return c.extras != nil && c.extras.watcher != nil }

// unwatch cancels it.
func (c *Conn) unwatch() { c.driver.Cancel(c.extras.watcher, &c.end, reactor.Hangup) }

// hearHangup deals with news of a Hangup.
func (c *Conn) hearHangup(n *news) {
	if n.hung {
		c.more().hung = true
	}
	if n.watchEnded {
		c.extras.watcher = nil
	}
}

// hangUp ends a connection after a reset by its peer, if no receive is going to report it. A paused
// Socket only learns of the reset here, and the receive ends it later.
func (c *Conn) hangUp() {
	if c.extras == nil || !c.extras.hung || !c.watched() {
		return
	}
	if !c.reading.is(ended) && c.consumer().hung() {
		return
	}
	if c.Lent() && c.reading.is(unseen) { // a Socket keeps bytes that arrived before, paused or not
		c.offer()
	}
	errno := cmp.Or(sock.TakeError(c.end.FD), syscall.ECONNRESET)
	if errno == syscall.EPIPE { // Linux' name for a reset that follows a FIN
		errno = syscall.ECONNRESET
	}
	c.fail(c.sysError("read", "recv", errno))
}

// doubt asks the worker to look whether the connection has ended, see engine.Suspect. The mutex is
// held.
func (c *Conn) doubt(d *driver) {
	if c.group.completes && c.inbox.watch&watchDoubted == 0 {
		c.inbox.watch |= watchDoubted
		d.Doubt(c.end.Token)
	}
}

// Look implements engine.Suspect.
func (t *connTarget) Look(l *sock.Look) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inbox.watch &^= watchDoubted
	if t.inbox.closed() {
		return false
	}
	l.Add(t.end.FD, !(*Conn)(t).overTCP())
	return true
}

// Overlooked implements engine.Suspect.
func (t *connTarget) Overlooked(by *engine.Driver) {
	t.mu.Lock()
	t.inbox.watch |= watchEnded
	t.mu.Unlock()
	by.Cx.Wake(t.task.Waker())
}

// DoubtAgain implements engine.Suspect.
func (t *connTarget) DoubtAgain(by *engine.Driver) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.inbox.closed() {
		(*Conn)(t).doubt(driverOf(by))
	}
}
