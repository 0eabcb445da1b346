package core

// Events are the methods of users' handlers. The core knows no type of these: package conn calls
// them for it. The handler is that of the connection, of whatever kind: a consumer has these
// methods too.
type Events interface {
	OnOpen(c *Conn) error
	OnData(c *Conn) error
	OnEOF(c *Conn) error
	OnWritable(c *Conn) error
	OnDeadline(c *Conn) error
	OnDrain(c *Conn)
	OnClose(c *Conn, err error)

	// Abandoned is for a handler that is no consumer: see Consumer.
	Abandoned(c *Conn, err error)
	// Do calls a function of the user.
	Do(c *Conn, f any)
}

// Gone replaces the handler of a connection once no method of that may be called.
type Gone struct{}
