package core

import (
	"github.com/suiro-go/suiro/internal/sock"
)

// When a server shuts down, requests may have arrived that its handler has not been given: they are
// in the kernel, or on their way from there. Package net's readers would get them, and so does the
// handler, before its connection ends. Later bytes may be cut off: a peer that goes on sending
// would keep the server from its end.
//
// How much has arrived can be known only while nothing receives. So the receive in flight is
// canceled. When it has ended, the sum of the received bytes and of those in the kernel is the mark
// to be reached.

// An arrival is a wait for bytes that have arrived. It lies in the extras. The task alone has it.
type arrival struct {
	then  func() // nil: nobody waits
	known bool
	mark  uint64 // how much will have been received
}

// WhenReceived calls f once all bytes that have arrived by now are received and, in callbacks, have
// been offered to the handler. It is called in a run, at its end or at the end of a later one, and
// not at all if the connection is closed or breaks before.
func (c *Conn) WhenReceived(f func()) { c.More().arrival = arrival{then: f} }

// CloseOnceReceived is Close, once OnData has been given all bytes that have arrived, and reading
// is not paused. A peer that takes none of the output has as long for it as after Close.
func (c *Conn) CloseOnceReceived() {
	if c.Is(consumed) { // a Socket or a Stream has the input
		_ = c.Close()
		return
	}
	c.WhenReceived(func() { _ = c.Close() })
}

// check is called at the end of a run.
func (a *arrival) check(c *Conn) {
	if a.then == nil {
		return
	}
	if c.Is(Closing | Broken | SendFailed) {
		a.then = nil
		return
	}
	switch {
	case c.Reading.Is(ReadClosed|Ended) || a.known:
	case c.Reading.Is(receiving | polling):
		if !c.Reading.Is(stopping) {
			c.stopReceiving()
		}
		return
	default:
		a.mark, a.known = inflow(c).Taken+uint64(sock.Unread(c.Endpoint.FD)), true
	}
	if c.isOffered(a.mark) || c.Reading.Is(starved) { // its end gives memory back
		then := a.then
		a.then = nil
		then()
	} else if c.Reading.Is(Paused) && !c.Is(consumed) && !c.Extras.Clock.Lingers() {
		c.Extras.Clock.linger(c)
	}
}

// isOffered reports whether so many bytes have been received and offered.
func (c *Conn) isOffered(mark uint64) bool {
	if c.Is(consumed) {
		return c.Reading.Is(ReadClosed|Ended) || inflow(c).Taken >= mark
	}
	waits, received := c.arrived()
	return !waits && !c.Reading.Is(waiting|Unoffered) && (c.Reading.Is(ReadClosed|Ended) || received >= mark)
}
