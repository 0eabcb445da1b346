// Package conn makes connections on the reactors of package reactor: byte
// streams with buffers, flow control, deadlines and an orderly close.
//
// A [Group] is the reactors of one runtime and everything attached to them: listeners, accepted and
// dialed connections. A [Conn] is a task of that runtime. The kernel's completions and other
// goroutines' commands gather in its inbox. Its task then runs on one worker at a time and calls
// the [Handler]. All bytes that the handler wrote go to the kernel as one send.
//
// Most programs use package server, which is this package behind an interface
// in the manner of net/http.
//
// Package packet is the same for datagrams, on the same Group.
//
// A [Socket] is a net.Conn for ordinary goroutines, and a [SocketListener] the
// net.Listener that accepts them.
//
// Proxies join two connections by [Splice], and two streams by [Stream.Splice]. [Conn.SendFile],
// [Conn.ReadFrom] and [Stream.SendFile] send files.
//
// # Which goroutine may call which method
//
// The methods of a Conn are for its handler, while a handler's method runs. A
// [Handle] is for all other code: it can be copied, kept after the connection
// has ended, and used from any goroutine.
//
// # The life of a connection
//
//	         OnOpen          OnData …            OnEOF
//	accepted ──────► open ───────────► open ──────────► peer has finished
//	dialed   ──────►  │                                   │
//	                  └── Close: flush, FIN, peer's FIN, or the linger time ──► closed
//	                  └── Abort, an error of the socket ──────────────────────► closed
//
// OnClose is called exactly once, last, when the kernel has ended every
// operation on the descriptor; only then is that closed.
package conn
