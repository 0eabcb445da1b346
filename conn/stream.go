package conn

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/handover"
	"github.com/suiro-go/suiro/sched"
)

// A Stream is a connection for plain sequential code: a net.Conn that suspends the handler's
// function in Read and Write, not a thread. So anything that speaks over a net.Conn runs on it as
// it is: bufio, crypto/tls, textproto.
//
// Read, Write and the other methods that have to do with bytes are for the function itself and
// those it has started with Go. They must be called on the coroutines of these: elsewhere they
// return an error. Close, the deadlines, the addresses and Handle are for any goroutine.
//
// Bytes leave when the function waits for anything, or with Flush: all that is written between two
// waits leaves as one send. A Write waits while Config.HighWater bytes are unsent. Reading goes on
// meanwhile. So two peers that both write first and read later wait for each other no longer than
// over TCP itself.
type Stream struct {
	plain // of a consumer's parts, those that a Stream has no use for

	// The task's alone. These fields and those that others store are all that most turns look at.
	// They fill two cache lines.
	c         *Conn
	running   *branch // the branch that runs now
	fresh     bool    // in this run of the task all have gone on since the last news
	needsRoom bool    // somebody waits for the queue to get shorter
	crowded   bool    // and did at the end of the last turn
	holds     bool    // reading is paused: much is unread
	ending    bool    // main has returned
	vacant    bool    // and all others have
	asked     bool    // something was read after the last write
	watches   bool    // Draining was called: the function ends itself
	main      branch

	// Any goroutine stores these and then rings, so that a turn sees them.
	signal   handover.Signal
	closed   atomic.Bool
	draining atomic.Bool
	readBy   atomic.Int64 // the runtime's time; 0: no deadline
	writeBy  atomic.Int64
	resets   atomic.Bool

	// The task's alone.
	told     bool // the functions have seen that the connection ended
	children []*Branch
	looked   int64       // when all were last about to look at the deadlines, if there were any
	failed   *Branch     // the first with an error that nobody has joined, as of its end
	alarm    alarm.Alarm // of readBy and writeBy

	handle Handle
	local  net.Addr
	outer  Handler // around Sequential's; nil: none
}

var _ net.Conn = (*Stream)(nil)

// Sequential is a Handler that calls fn for each connection, on a coroutine. The connection ends
// when fn returns: in order, as by Conn.Close. If fn returns an error, or panics, that is the cause
// of the end. The functions that fn has started with Go end with it: once it has returned, their
// Awaits, Reads and Writes fail.
//
// The connection may end otherwise, by an error or because the server has waited for long enough.
// Then Awaits, Reads and Writes fail in the same way; a sched.Context.Shield defers that.
//
// When the server shuts down, a Read that would wait for a next request returns io.EOF, as after
// CloseRead. That is a Read before which nothing was read, or nothing after the last Write. So a
// plain loop of reads and answers ends. A function that calls Stream.Draining ends itself, and its
// Reads are left alone.
//
// The connection is served by the worker that has opened it, because its coroutine is tied to that
// one. Other workers do not help out as they do with callbacks.
func Sequential(fn func(cx *sched.Context, s *Stream) error) Handler { return &sequential{fn: fn} }

var errOfStream = fmt.Errorf("conn: the connection is a Stream's: use the methods of that: %w", errors.ErrUnsupported)

// sequential is the handler of a connection until that is open.
type sequential struct {
	Base
	fn func(*sched.Context, *Stream) error
}

// OnOpen implements Handler.
func (h *sequential) OnOpen(c *Conn) error {
	s := &Stream{c: c, handle: c.Handle(), local: c.LocalAddr()}
	if outer := c.handler; outer != Handler(h) {
		s.outer = outer
	}
	c.install((*streamEvents)(s))
	s.main.begin = func(cx *sched.Context) error { return c.returned(h, h.fn(cx, s)) }
	return nil
}

// OnData implements Handler; it is not called.
func (*sequential) OnData(*Conn) error { return nil }

// OnDrain implements Handler, for one around this one: streamEvents calls that.
func (*sequential) OnDrain(c *Conn) {
	if c.ofStream() {
		c.stream().drain()
		return
	}
	_ = c.Close()
}

// stream is that of a connection that a Stream's functions serve.
func (c *Conn) stream() *Stream { return (*Stream)(c.handler.(*streamEvents)) }

// Handle is Conn.Handle.
func (s *Stream) Handle() Handle { return s.handle }

// LocalAddr implements net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.local }

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.c.remote() }

// Value and SetValue are those of the connection.
func (s *Stream) Value() any { return s.c.value }

// SetValue stores what Value then is.
func (s *Stream) SetValue(v any) { s.c.value = v }
