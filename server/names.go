package server

import (
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// Types of package conn that handlers of connections and configurations of a Server need have names
// here as well. Some methods of Group take other types of package conn, such as Group.ListenOn.
type (
	// Handler gets the events of each connection.
	Handler = conn.Handler
	// Base implements all of Handler but OnData.
	Base = conn.Base
	// Wrapper is a Handler around another one.
	Wrapper = conn.Wrapper
	// Stackful is a Handler or PacketHandler that says whether its functions run on coroutines.
	Stackful = conn.Stackful
	// Conn is a connection, for its handler. "go doc conn.Conn" documents its methods, and "go doc
	// conn.Conn.Peek" one of them:
	//
	//	read     Next Peek Discard Read WriteTo Buffered; PauseRead ResumeRead
	//	write    Write WriteString Writev ReadFrom SendFile AvailableBuffer Flush
	//	unsent   Unsent NotifySent
	//	end      Close CloseWrite CloseRead Abort; NotifyClose Draining Context Life
	//	time     SetDeadline SetReadDeadline SetWriteDeadline SetIdleTimeout SetLingerTimeout Now
	//	peer     RemoteAddr LocalAddr PeerCred TLS
	//	others   Handle, for other goroutines; Dial; Group Worker
	//	state    SetValue Value, and ValueOf; SetHandler PassTo
	Conn = conn.Conn
	// Handle refers to a connection from any goroutine, for any length of time. "go doc
	// conn.Handle" documents its methods: Send, Do, Close, Drain, Abort, Context, RemoteAddr.
	Handle = conn.Handle
	// Life describes a connection from its beginning to its end, see Conn.Life.
	Life = conn.Life
	// Info describes an open connection, see conn.Group.Connections.
	Info = conn.Info

	// Stream is a connection for sequential code, and a net.Conn. "go doc conn.Stream" documents
	// its methods, and "go doc conn.Stream.Splice" one of them:
	//
	//	read     Read ReadFull Next Peek Discard WriteTo Buffered TryRead; the future Readable
	//	write    Write ReadFrom SendFile Flush TryWrite; the future Writable
	//	both     Splice, with another one; Go, for a function beside this one
	//	end      Close CloseWrite CloseRead Abort; the futures Closed and Draining
	//	time     SetDeadline SetReadDeadline SetWriteDeadline
	//	task     Bind Release Context, to use it in another task
	//	peer     RemoteAddr LocalAddr PeerCred TLS
	//	state    SetValue Value
	Stream = conn.Stream
	// Branch is a function that runs beside that of a Stream, see Stream.Go.
	Branch = conn.Branch
	// Socket is a connection for ordinary goroutines: the listeners of Listen accept it. Its
	// methods: go doc conn.Socket.
	Socket = conn.Socket
	// UnixStream is a Unix connection on which files are passed. Its methods: go doc
	// conn.UnixStream.
	UnixStream = conn.UnixStream
	// ReceivedFiles is the result of UnixStream.RecvFilesFuture.
	ReceivedFiles = conn.ReceivedFiles
	// SendFilesFuture sends bytes and files on a UnixStream.
	SendFilesFuture = conn.SendFilesFuture
	// Spliced is a pair of connections that Splice has joined.
	Spliced = conn.Spliced

	// Group is the workers and the connections that they serve, see Server.On.
	Group = conn.Group
	// Config configures connections, see Server.ConnConfig.
	Config = conn.Config
	// Stats are the counters that Group.Stats returns.
	Stats = conn.Stats
	// TLSConfig configures conn.ServeTLS and conn.ConnectTLS.
	TLSConfig = conn.TLSConfig
	// Overflow says what a listener does with a connection above Config.MaxConns.
	Overflow = conn.Overflow
	// Placement says on which worker a connection begins, see Config.Placement.
	Placement = conn.Placement

	// PanicError is the error of a connection or a packet socket whose handler panicked.
	PanicError = conn.PanicError
)

// The values of Config.Overflow, and then those of Config.Placement.
const (
	// OverflowReset accepts the connection and resets it.
	OverflowReset = conn.OverflowReset
	// OverflowWait leaves the connection in the kernel's backlog until another one ends.
	OverflowWait = conn.OverflowWait

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
	// ErrWouldBlock is returned by a call that would have to wait, as Conn.Read without bytes.
	ErrWouldBlock = conn.ErrWouldBlock
	// ErrShed is the error of a connection that was reset because of Config.MaxMemory.
	ErrShed = conn.ErrShed
	// ErrSpliced is returned by Splice for a connection that it cannot join.
	ErrSpliced = conn.ErrSpliced
	// ErrNoneArrived is returned by TryAccept of a listener that holds no connection: of Listen,
	// StreamListener and UnixListener.
	ErrNoneArrived = conn.ErrNoneArrived
	// ErrNotReady is returned by TryRead and TryWrite of a Stream that is not ready.
	ErrNotReady = conn.ErrNotReady
	// ErrFilesLost is returned by a receive of files when the process may open no more.
	ErrFilesLost = conn.ErrFilesLost
	// ErrStuck is returned by a call that waits for a worker whose handler does not return.
	ErrStuck = conn.ErrStuck
)

// Sequential is a Handler that calls fn for each connection, on a coroutine. fn is sequential code
// that reads and writes, see conn.Sequential.
func Sequential(fn func(cx *sched.Context, s *Stream) error) Handler { return conn.Sequential(fn) }

// Splice passes the received bytes of each of the two connections on to the other one, until both
// have ended, see conn.Splice.
func Splice(a *Conn, b Handle, done func(*Spliced)) (*Spliced, error) { return conn.Splice(a, b, done) }

// ValueOf returns the value that Conn.SetValue stored, as a T. ok is false if it is no T.
func ValueOf[T any](c *Conn) (v T, ok bool) { return conn.ValueOf[T](c) }

// As returns the first T among h and the handlers that it wraps, found through Unwrap.
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
	// Sessions is a PacketHandler that has a session for each peer.
	Sessions = packet.Sessions
	// Session is one peer of a Sessions.
	Session = packet.Session
	// SessionHandler gets the events of the peers of a Sessions.
	SessionHandler = packet.SessionHandler
)

// Cred names the peer process of a Unix connection, see Conn.PeerCred.
type Cred = conn.Cred

// The types of package packet that tasks use for datagrams.
type (
	// DatagramSocket is a datagram socket for tasks and goroutines. Its type parameter is the type
	// of addresses.
	DatagramSocket[A any] = packet.DatagramSocket[A]
	// UDPSocket is a UDP socket for tasks and goroutines.
	UDPSocket = packet.UDPSocket
	// Peer is one peer of a socket, for the task that serves it.
	Peer = packet.Peer
	// UnixDatagram is a Unix datagram socket for tasks and goroutines.
	UnixDatagram = packet.UnixDatagram
	// NetConn is a datagram socket in the form of package net.
	NetConn = packet.NetConn
	// DatagramMessage is one datagram of a batch.
	DatagramMessage[A any] = packet.Message[A]
	// DatagramControlMessage is what the kernel reports of a received datagram beside its sender.
	DatagramControlMessage = packet.ControlMessage
	// DatagramReceived is a datagram that a future has received.
	DatagramReceived[A any] = packet.Received[A]
	// DatagramBatchFuture is a send of several datagrams.
	DatagramBatchFuture[A any] = packet.BatchFuture[A]
)

// SessionTasks is a SessionHandler that serves each session with a task of its own, see
// packet.SessionTasks.
func SessionTasks(serve func(cx *sched.Context, p *Peer) error) SessionHandler {
	return packet.SessionTasks(serve)
}
