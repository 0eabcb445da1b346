package conn

import (
	"context"
	"net"

	"github.com/suiro-go/suiro/internal/core"
)

// A Handle refers to a connection from any goroutine, for any length of time.
// It may be copied and compared; one that has outlived its connection is
// harmless and never means another one. The zero value is such a one.
//
// The methods' error matches net.ErrClosed when the connection has ended.
type Handle struct{ core core.Handle }

// ID is a number for the connection, for logs and status pages. No other connection of the group
// has the same one. That of the zero Handle is 0.
func (h Handle) ID() uint64 { return uint64(h.core.Token) }

// Send queues a copy of p, which is sent in one piece, in the order of the calls. A full queue
// takes nothing: ErrWriteQueueFull. Bytes that wait for a TLS handshake are queued, too. Send
// returns no error if the connection ends before p is sent: OnClose reports that.
func (h Handle) Send(p []byte) error { return h.core.Send(p) }

// Do calls f on a worker, where f may use the connection as a handler does. If the
// connection ends first, f is not called. While 1024 functions wait, Do returns
// ErrTooManyCalls and f is not called.
func (h Handle) Do(f func(*Conn)) error { return h.core.Do(f) }

// Close is Conn.Close.
func (h Handle) Close() error { return h.core.Close() }

// Drain makes a worker call OnDrain, as Group.Drain does for every connection.
func (h Handle) Drain() error { return h.core.Drain() }

// Abort is Conn.Abort.
func (h Handle) Abort() error { return h.core.Abort() }

// RemoteAddr is Conn.RemoteAddr, or nil if the connection has ended.
func (h Handle) RemoteAddr() net.Addr { return h.core.Remote() }

// Context is Conn.Context, for any goroutine. Of a connection that has ended it returns a context
// that has ended as well.
func (h Handle) Context() context.Context { return h.core.Context() }
