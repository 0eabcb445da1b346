package conn

import (
	"context"
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/core"
)

// A Conn is one byte-stream connection. Its methods are for its handler, while
// a method of that runs; Handle is for everybody else.
type Conn struct{ core core.Conn }

// Value is what SetValue stored, or nil: the handler's own state of this
// connection.
func (c *Conn) Value() any { return c.core.Value }

// SetValue stores the handler's own state of this connection.
func (c *Conn) SetValue(v any) { c.core.Value = v }

// ValueOf is what SetValue stored in the connection, as a T; false: it is none.
func ValueOf[T any](c *Conn) (v T, ok bool) {
	v, ok = c.core.Value.(T)
	return v, ok
}

// Group is the group the connection belongs to.
func (c *Conn) Group() *Group { return groupOf(c.core.Group) }

// Handle is a reference to the connection for other goroutines and for later.
func (c *Conn) Handle() Handle { return Handle{c.core.Handle()} }

// SetHandler gives all later events to another handler, for example when the peers have agreed on
// another protocol. Earlier events are not repeated. If anything is unread its OnData is called
// soon. The connection of a Stream keeps the handler it has: the error matches
// errors.ErrUnsupported. A Sequential needs the OnOpen that PassTo calls.
func (c *Conn) SetHandler(h Handler) error { return c.core.SetHandler(h) }

// Now is the time at the beginning of the worker's tick. It costs nearly nothing, and is good to
// well under a millisecond as long as handlers are quick.
func (c *Conn) Now() time.Time { return c.core.Now() }

// Worker is the index of the worker the handler runs on, from 0: for state that workers should not
// share. It may be another one next time. Those of spare workers follow the others: see
// sched.Config.Spares. All are below Runtime().Workers() plus Runtime().Spares().
func (c *Conn) Worker() int { return c.core.Worker() }

// RemoteAddr is the peer's address: a *net.TCPAddr or a *net.UnixAddr. It stays
// known after the connection has ended.
func (c *Conn) RemoteAddr() net.Addr { return c.core.RemoteAddr() }

// SetRemoteAddr sets the result of RemoteAddr, for a peer that is a proxy and speaks for another
// client. Limits by source still count the peer.
func (c *Conn) SetRemoteAddr(client net.Addr) { c.core.SetRemoteAddr(client) }

// LocalAddr is this end's address, nil when the connection has ended.
func (c *Conn) LocalAddr() net.Addr { return c.core.LocalAddr() }

// Context is a context that ends with the connection, for calls into libraries that work for it.
// It ends when the connection is closed or aborted by either function of those names, also while
// output is still on its way, and when the connection breaks. The peer's FIN alone does not end it.
// While a call blocks the connection's own task, as in BlockInPlace, a reset by the peer or another
// failure ends the context only after that call. A close or an abort ends it at once.
//
// context.Cause is the error that ended the connection, or net.ErrClosed.
//
// It has the values of Config.BaseContext and ends with that. It is the same until the connection
// is over. Any goroutine may use the context. The first call costs about 1 µs; the connection's end
// then costs a look-up. A connection without calls pays nothing.
func (c *Conn) Context() context.Context { return c.core.Context() }

// Draining reports whether the connection is to end, because Group.Shutdown has begun with
// connections of its kind. It may be true before OnDrain is called. A handler that answers a
// request then can already say that the answer is the last one.
func (c *Conn) Draining() bool { return c.core.Draining() }
