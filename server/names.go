package server

import (
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// The types of package conn that a handler of connections, and whoever configures a Server,
// needs have their names here as well. What one calls on a Group itself, such as
// Group.ListenOn, takes types of package conn.
type (
	// Handler gets the events of each connection.
	Handler = conn.Handler
	// Base implements all of Handler but OnData.
	Base = conn.Base
	// Wrapper is a Handler around another one.
	Wrapper = conn.Wrapper
	// Conn is a connection, for its handler.
	Conn = conn.Conn
	// Handle refers to a connection from any goroutine.
	Handle = conn.Handle
	// Info is what Conn.Info and Handle.Info say of a connection.
	Info = conn.Info

	// Stream is a connection for sequential code.
	Stream = conn.Stream
	// Branch is a function that runs beside that of a Stream, see Stream.Go.
	Branch = conn.Branch
	// Socket is a connection for ordinary goroutines: the listeners of Listen accept it.
	Socket = conn.Socket
	// Spliced is two connections that Splice has joined.
	Spliced = conn.Spliced

	// Group is the workers and the connections that they serve, see Server.On.
	Group = conn.Group
	// Config configures connections, see Server.Conn.
	Config = conn.Config
	// Stats is what Group.Stats counts.
	Stats = conn.Stats
	// TLSConfig configures conn.ServeTLS and conn.ConnectTLS.
	TLSConfig = conn.TLSConfig
	// Overflow says what becomes of a connection above Config.MaxConns.
	Overflow = conn.Overflow
	// Placement says on which worker a connection begins, see Config.Placement.
	Placement = conn.Placement

	// PanicError is the error of a connection or a packet socket whose handler panicked.
	PanicError = conn.PanicError
)

// The values of Config.Overflow.
const (
	// Refuse accepts the connection and resets it.
	Refuse = conn.Refuse
	// Wait leaves the connection in the kernel's backlog until another one ends.
	Wait = conn.Wait
)

// The values of Config.Placement.
const (
	// RoundRobin takes the workers in turn.
	RoundRobin = conn.RoundRobin
	// LeastConnections takes the worker on which the fewest live connections began.
	LeastConnections = conn.LeastConnections
	// SourceHash takes the same worker for the same peer's address, whatever its port.
	SourceHash = conn.SourceHash
)

// The errors of package conn that handlers and their callers compare with.
var (
	// ErrWriteQueueFull is returned by a write for which there is no room.
	ErrWriteQueueFull = conn.ErrWriteQueueFull
	// ErrTooManyCalls is returned by Handle.Do while too many functions wait to be called.
	ErrTooManyCalls = conn.ErrTooManyCalls
	// ErrReadBufferFull ends a connection whose handler left Config.MaxRead bytes unread.
	ErrReadBufferFull = conn.ErrReadBufferFull
	// ErrWouldBlock is returned by Conn.Read when nothing is buffered.
	ErrWouldBlock = conn.ErrWouldBlock
	// ErrShed is why a connection ends that was reset because of Config.MaxMemory.
	ErrShed = conn.ErrShed
	// ErrSpliced is returned by Splice for a connection that it cannot join.
	ErrSpliced = conn.ErrSpliced
	// ErrStuck is returned by a call that waits for a worker whose handler does not return.
	ErrStuck = conn.ErrStuck
)

// Sequential is a Handler that calls fn for each connection, on a coroutine: plain code
// that reads and writes, see conn.Sequential.
func Sequential(fn func(cx *sched.Context, s *Stream) error) Handler { return conn.Sequential(fn) }

// Splice passes on what comes in on a to b and the other way round, until both have ended,
// see conn.Splice.
func Splice(a *Conn, b Handle, done func(*Spliced)) (*Spliced, error) { return conn.Splice(a, b, done) }

// ValueOf is what Conn.SetValue stored, as a T; false: it is none.
func ValueOf[T any](c *Conn) (v T, ok bool) { return conn.ValueOf[T](c) }

// As is the first of h and the handlers within it, found through Unwrap, that is a T.
func As[T any](h Handler) (t T, ok bool) { return conn.As[T](h) }

// The types of package packet that a handler of datagrams needs have their names here as well.
type (
	// PacketHandler gets the events of a packet socket.
	PacketHandler = packet.Handler
	// PacketBase implements all of PacketHandler but OnPackets.
	PacketBase = packet.Base
	// PacketConn is a packet socket, for its handler.
	PacketConn = packet.Conn
	// PacketHandle refers to a packet socket from any goroutine.
	PacketHandle = packet.Handle
	// PacketSocket is a packet socket for ordinary goroutines, a net.PacketConn.
	PacketSocket = packet.Socket
	// Packet is a datagram that was received.
	Packet = packet.Packet
	// Sessions is a PacketHandler that tells the datagrams of different peers apart.
	Sessions = packet.Sessions
	// Session is one peer of a Sessions.
	Session = packet.Session
	// SessionHandler gets the events of the peers of a Sessions.
	SessionHandler = packet.SessionHandler
)
