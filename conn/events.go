package conn

import (
	"unsafe"

	"github.com/suiro-go/suiro/internal/core"
)

// users is the Conn that users have of a connection. A Conn is the core's and nothing else, so both
// are at the same address. Neither costs the other anything, and users see no fields of the core.
func users(c *core.Conn) *Conn { return (*Conn)(unsafe.Pointer(c)) }

// handlerOf is the handler of a connection.
func handlerOf(c *core.Conn) Handler {
	if h, ok := c.Handler.(Handler); ok {
		return h
	}
	if _, gone := c.Handler.(core.Gone); gone {
		return untold{}
	}
	return nil // the user's mistake
}

// events implements core.Events.
type events struct{}

func (*events) OnOpen(c *core.Conn) error         { return handlerOf(c).OnOpen(users(c)) }
func (*events) OnData(c *core.Conn) error         { return handlerOf(c).OnData(users(c)) }
func (*events) OnEOF(c *core.Conn) error          { return handlerOf(c).OnEOF(users(c)) }
func (*events) OnWritable(c *core.Conn) error     { return handlerOf(c).OnWritable(users(c)) }
func (*events) OnDeadline(c *core.Conn) error     { return handlerOf(c).OnDeadline(users(c)) }
func (*events) OnDrain(c *core.Conn)              { handlerOf(c).OnDrain(users(c)) }
func (*events) OnClose(c *core.Conn, err error)   { handlerOf(c).OnClose(users(c), err) }
func (*events) Abandoned(c *core.Conn, err error) { abandonUsers(handlerOf(c), err) }
func (*events) Do(c *core.Conn, f any)            { f.(func(*Conn))(users(c)) }

// untold is the handler of a connection once no method of the user's may be called.
type untold struct{ Base }

func (untold) OnData(*Conn) error { return nil }
