package server

import (
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// Types of package conn that handlers of connections and configurations of a Server need have names
// here as well. Some methods of Group take other types of package conn, such as Group.ListenOn.
type (
	// Handler gets the events of each connection, by one goroutine at a time. Its methods run on
	// workers and must not block. Its methods: go doc conn.Handler.
	Handler = conn.Handler
	// Base implements all of Handler but OnData. Embed it. OnEOF and OnDrain close the connection,
	// OnDeadline ends it with os.ErrDeadlineExceeded, and the others do nothing.
	Base = conn.Base
	// Wrapper is a Handler around another one, which its Unwrap returns.
	Wrapper = conn.Wrapper
	// Stackful is a Handler or PacketHandler that says whether its functions run on coroutines. By
	// this a Server without a Backend chooses one.
	Stackful = conn.Stackful
	// Conn is a connection. Only the connection's Handler may use it, while one of the Handler's
	// methods runs. "go doc conn.Conn" documents its methods, and "go doc conn.Conn.Peek" one:
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
	// Handle refers to a connection from any goroutine, for any length of time. After the
	// connection's end, and for the zero value, errors match net.ErrClosed. "go doc conn.Handle"
	// documents its methods: Send, Do, Close, Drain, Abort, Context, RemoteAddr.
	Handle = conn.Handle
	// Life has the times of a connection and its TLS handshake, and how they ended: see Conn.Life.
	Life = conn.Life
	// Info describes an open connection, with its counts of bytes: see Group.Connections.
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
	// Branch is a function that runs beside that of a Stream, see Stream.Go. Its methods: go doc
	// conn.Branch.
	Branch = conn.Branch
	// Socket is a connection for ordinary goroutines: the listeners of Listen accept it. Its
	// methods: go doc conn.Socket.
	Socket = conn.Socket
	// UnixStream is a Unix connection on which files are passed. Its methods: go doc
	// conn.UnixStream.
	UnixStream = conn.UnixStream
	// ReceivedFiles is the result of UnixStream.RecvFilesFuture: the number of bytes, and files
	// that the receiver closes.
	ReceivedFiles = conn.ReceivedFiles
	// SendFilesFuture sends bytes and files on a UnixStream. Its value is the number of bytes;
	// after an abort its Sent has that.
	SendFilesFuture = conn.SendFilesFuture
	// Spliced is a pair of connections that Splice has joined. Any goroutine may use it.
	Spliced = conn.Spliced

	// Group is a set of workers with the connections that they serve: see Server.Group and
	// Server.On. Any goroutine may use it. Its methods: go doc conn.Group.
	Group = conn.Group
	// Config has limits and time-outs of connections, see Server.ConnConfig. Zero fields mean the
	// defaults. Its fields: go doc conn.Config.
	Config = conn.Config
	// Stats are the counters of a Group from its start on, returned by Group.Stats. Their fields:
	// go doc conn.Stats.
	Stats = conn.Stats
	// TLSConfig configures conn.ServeTLS and conn.ConnectTLS. A Server makes one from its own
	// fields. Its fields: go doc conn.TLSConfig.
	TLSConfig = conn.TLSConfig
	// Overflow says how a listener treats a connection above Config.MaxConns. The zero value is
	// OverflowReset.
	Overflow = conn.Overflow
	// Placement says on which worker a connection begins, see Config.Placement. The zero value is
	// RoundRobin.
	Placement = conn.Placement

	// PanicError is the error of a connection or a packet socket whose handler panicked. OnClose
	// gets it as a *PanicError.
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

// Sequential is a Handler that calls fn for each connection, on a coroutine. fn reads and writes as
// on a net.Conn, and a wait in it blocks no worker. It must not wait in other calls. The connection
// ends when fn returns; an error is logged at debug level. When the server shuts down, a Read for a
// next request returns io.EOF. conn.Sequential has the details.
func Sequential(fn func(cx *sched.Context, s *Stream) error) Handler { return conn.Sequential(fn) }

// Splice passes the received bytes of each of two connections on to the other one, until both have
// ended. Call it in a method of a's handler; b may be on any worker of the same Group. done, if not
// nil, is called on a worker at the end. After an error nothing has changed: it matches ErrSpliced,
// or net.ErrClosed if a connection has ended. conn.Splice has the details.
func Splice(a *Conn, b Handle, done func(*Spliced)) (*Spliced, error) { return conn.Splice(a, b, done) }

// ValueOf returns the value that Conn.SetValue stored, as a T. ok is false if none was stored, or
// if it is no T. As methods of Conn it is for the connection's handler.
func ValueOf[T any](c *Conn) (v T, ok bool) { return conn.ValueOf[T](c) }

// As returns the first T among h and the handlers that it wraps, found through Unwrap. ok is false
// if there is none, or h is nil. Any goroutine may call it.
func As[T any](h Handler) (t T, ok bool) { return conn.As[T](h) }

// The types of package packet that a handler of datagrams needs have their names here as well.
type (
	// PacketHandler gets the events of a packet socket, by one goroutine at a time. Its methods run
	// on workers and must not block. Its methods: go doc packet.Handler.
	PacketHandler = packet.Handler
	// PacketBase implements all of PacketHandler but OnPackets. Embed it.
	PacketBase = packet.Base
	// PacketConn is a packet socket. Only the socket's PacketHandler may use it, while one of the
	// PacketHandler's methods runs. Its methods: go doc packet.Conn.
	PacketConn = packet.Conn
	// PacketHandle refers to a packet socket from any goroutine, for any length of time. After the
	// socket's end, and for the zero value, errors match net.ErrClosed. Its methods: go doc
	// packet.Handle.
	PacketHandle = packet.Handle
	// PacketSocket is a packet socket for ordinary goroutines, with the methods of *net.UDPConn.
	// Its methods: go doc packet.Socket.
	PacketSocket = packet.Socket
	// Packet is a received datagram. Its Data is valid until OnPackets returns.
	Packet = packet.Packet
	// Sessions is a PacketHandler that keeps a session for each peer that has sent lately. Its
	// fields: go doc packet.Sessions.
	Sessions = packet.Sessions
	// Session is one peer of a Sessions. Only the SessionHandler may use it, while one of the
	// SessionHandler's methods runs. Its methods: go doc packet.Session.
	Session = packet.Session
	// SessionHandler gets the events of each session, by one goroutine at a time for one socket.
	// Its methods run on workers and must not block. Its methods: go doc packet.SessionHandler.
	SessionHandler = packet.SessionHandler
)

// Cred names the process that connected a Unix socket or listens on it, with its users as of that
// moment: see Conn.PeerCred.
type Cred = conn.Cred

// The types of package packet that tasks use for datagrams.
type (
	// DatagramSocket has the methods of UDPSocket and UnixDatagram. Its type parameter is the type
	// of addresses.
	DatagramSocket[A any] = packet.DatagramSocket[A]
	// UDPSocket is a UDP socket. Any number of tasks and goroutines may use it at once. Errors
	// match net.ErrClosed after Close. Its methods: go doc packet.DatagramSocket.
	UDPSocket = packet.UDPSocket
	// Peer is one peer of a socket, for the task that serves it. It keeps up to 64 datagrams until
	// they are received, and drops further ones. Any goroutine may use it. Its methods: go doc
	// packet.Peer.
	Peer = packet.Peer
	// UnixDatagram is a Unix datagram socket. Any number of tasks and goroutines may use it at
	// once. Errors match net.ErrClosed after Close. Its methods: go doc packet.DatagramSocket.
	UnixDatagram = packet.UnixDatagram
	// NetConn is a datagram socket with the interfaces of package net, for libraries. Its methods:
	// go doc packet.NetConn.
	NetConn = packet.NetConn
	// DatagramMessage is one datagram of a batch that is sent or received in one call.
	DatagramMessage[A any] = packet.Message[A]
	// DatagramControlMessage has the kernel's report of a received datagram: destination,
	// interface, ECN bits, TTL and time, each after the Want method of that name.
	DatagramControlMessage = packet.ControlMessage
	// DatagramReceived is a datagram that a future has received.
	DatagramReceived[A any] = packet.Received[A]
	// DatagramBatchFuture is a send of several datagrams. Its value is their number; after an abort
	// its Sent has that.
	DatagramBatchFuture[A any] = packet.BatchFuture[A]
)

// SessionTasks is a SessionHandler that serves each session with a stackful task of its own. The
// session ends when serve returns; an error is logged. It is the Handler of a Sessions. See
// packet.SessionTasks.
func SessionTasks(serve func(cx *sched.Context, p *Peer) error) SessionHandler {
	return packet.SessionTasks(serve)
}
