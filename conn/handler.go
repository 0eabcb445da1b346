package conn

import "os"

// A Handler gets the events of a connection. One handler usually serves many connections, which
// differ by Conn.Value. Its methods are called for one connection by one goroutine at a time, for
// different ones at the same time.
//
// They run on the workers and must not block. Work that takes longer than some milliseconds belongs
// in a goroutine that answers through Conn.Handle. A panic ends that connection at once, with the
// panic as its error. So does runtime.Goexit, with sched.ErrGoexit, which costs memory for good
// (see there).
//
// An error that a method returns closes the connection as Conn.Close does, once all written bytes
// have been sent, and is then given to OnClose.
//
// Embed Base to implement only what you need.
type Handler interface {
	// OnOpen: the connection is established. Nothing has been received yet.
	OnOpen(c *Conn) error

	// OnData: bytes have arrived. Bytes that the method leaves unread stay buffered. It is called
	// again when more bytes have arrived, or at once if Config.MaxRead bytes or more are unread.
	OnData(c *Conn) error

	// OnEOF: the peer will send no more; everything it sent has been given
	// to OnData, and writing is still possible. Base closes the connection.
	OnEOF(c *Conn) error

	// OnWritable: the write queue has been above Config.HighWater and is at or below LowWater
	// again. Writing may go on.
	OnWritable(c *Conn) error

	// OnDeadline: the time set by SetReadDeadline has come. The connection
	// goes on if the method returns nil. Base returns os.ErrDeadlineExceeded.
	OnDeadline(c *Conn) error

	// OnDrain: the server is shutting down and waits for the connection to end. Base closes it
	// once OnData has been given all bytes that have arrived by then, and reading is not paused.
	// Later bytes may be cut off.
	OnDrain(c *Conn)

	// OnClose: the connection has ended, whether or not OnOpen was called. It is the last call. err
	// is nil after Close and after the peer's FIN, else the reason of the end. Writing is no longer
	// possible. If anything that was written was not sent, the peer sees a reset.
	//
	// If a send fails, bytes that have arrived are given to OnData first, unless reading is paused.
	// Until then written bytes are dropped without an error.
	OnClose(c *Conn, err error)
}

// Base implements all of Handler but OnData, each as its comment there says.
type Base struct{}

// OnOpen does nothing.
func (Base) OnOpen(*Conn) error { return nil }

// OnEOF closes the connection.
func (Base) OnEOF(c *Conn) error { return c.Close() }

// OnWritable does nothing.
func (Base) OnWritable(*Conn) error { return nil }

// OnDeadline ends the connection with os.ErrDeadlineExceeded.
func (Base) OnDeadline(*Conn) error { return os.ErrDeadlineExceeded }

// OnDrain closes the connection once OnData has been given all bytes that have arrived by then, and
// reading is not paused: a request whose handler has called PauseRead is in progress.
func (Base) OnDrain(c *Conn) { c.core.CloseOnceReceived() }

// OnClose does nothing.
func (Base) OnClose(*Conn, error) {}
