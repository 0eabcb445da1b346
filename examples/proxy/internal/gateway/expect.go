package gateway

import (
	"sync"
	"time"
)

// A wish is a client's "Expect: 100-continue". While it is open, the client waits for the
// upstream: the time for an answer runs, and the client is not slow.
type wish struct {
	mu    sync.Mutex
	open  bool
	since time.Time // when it ended; zero: it is open, or there was none
}

// expect opens the wish: the upstream has as long as for any other answer.
func (x *exchange) expect(up *lease) {
	x.wish.open = true
	_ = up.conn.SetReadDeadline(time.Now().Add(x.client.route.Reply()))
}

// granted ends the wish because the client has been told to continue: from now on its body
// is awaited.
func (x *exchange) granted(up *lease) {
	x.wish.mu.Lock()
	defer x.wish.mu.Unlock()
	if x.fulfill(up) {
		k := x.client
		pace := k.pace()
		_ = k.conn.SetReadDeadline(x.wish.since.Add(pace.limit(0, k.route.Idle())))
	}
}

// came ends the wish because some of the body is there, and returns since when the client
// alone was waited for, which is not before from.
func (x *exchange) came(up *lease, from time.Time) time.Time {
	x.wish.mu.Lock()
	defer x.wish.mu.Unlock()
	x.fulfill(up)
	if x.wish.since.After(from) {
		return x.wish.since
	}
	return from
}

// fulfill ends the wish, if it is open, and with it the time for the answer, which begins anew
// with the end of the body. The lock is held.
func (x *exchange) fulfill(up *lease) bool {
	if !x.wish.open {
		return false
	}
	x.wish.open, x.wish.since = false, time.Now()
	_ = up.conn.SetReadDeadline(time.Time{})
	return true
}

// begin notes that the answer itself has begun, which sets its own deadlines.
func (x *exchange) begin() {
	x.wish.mu.Lock()
	defer x.wish.mu.Unlock()
	x.wish.open = false
	x.begun.Store(true)
}

// await sets the deadline of the client's next bytes.
func (x *exchange) await(pace *pace, from time.Time) {
	x.wish.mu.Lock()
	defer x.wish.mu.Unlock()
	var by time.Time // the upstream's deadline ends an open wish
	if idle := x.client.route.Idle(); x.begun.Load() {
		by = from.Add(idle) // the client may wait for more of the answer first
	} else if !x.wish.open {
		by = from.Add(pace.limit(0, idle))
	}
	_ = x.client.conn.SetReadDeadline(by)
}
