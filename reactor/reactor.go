package reactor

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// A Reactor is the interface to the kernel for one worker. The package comment has the rules for
// both sides.
type Reactor interface {
	// Name returns the backend's name, one of Backends.
	Name() string

	// Submit accepts an operation. Poll reports its result. The Op itself may be reused as soon as
	// Submit returns. The operation may stay queued until the next Poll. Errors: ErrClosed after
	// Close; an error that matches the errno when the kernel refuses the operation, in which case
	// no completion follows. Any goroutine may submit Cancel, Close and Rewatch. For the other
	// kinds see Carrier.
	Submit(op *Op) error

	// Carrier returns the reactor that takes the next operation on a descriptor of this reactor, if
	// the submitting goroutine owns runner, a reactor of the same backend. io_uring returns runner,
	// because only the owner may use a submission queue. The others return themselves, because they
	// have the state of the descriptor, and take operations from any goroutine. The operation
	// completes, and is canceled, at its carrier. Any goroutine may call it.
	Carrier(runner Reactor) Reactor

	// Poll passes all queued operations to the kernel. Then it fills out, which must not be empty,
	// with completions and returns their number. If there is none, it waits: not at all for wait 0,
	// without a bound for wait < 0. It may return 0 and no error before that: after a Wake, when a
	// signal interrupts it, and for internal events. With hold the wait keeps the Go scheduler's
	// processor (not on Windows), so that no other goroutine can have it. Such a wait must be short
	// (under a second), and is not exact: it may end early. Only the owner may call Poll.
	//
	// io_uring may drop completions because it lacks memory. Then all operations in flight end with
	// the next Polls. Accept, Connect, Recv and Send end with ENOMEM unless their result is known;
	// a Recv always does. Bytes may have been transferred in either direction, so close the
	// descriptor. The datagrams of a SendTo fail with ENOMEM unless their result is known. RecvFrom
	// and Hangup end with EAGAIN, Readable and Writable with 0: submit them again. A Watch goes on,
	// and reports the state of its descriptor. Datagrams may be lost. No bytes of a stream are
	// delivered after lost ones.
	Poll(out []Completion, wait time.Duration, hold bool) (int, error)

	// Rescue fills out with completions, as Poll would, for an owner that is stuck between two
	// Polls. It neither waits nor submits, and does not consume a Wake. Any goroutine may call it,
	// but never during Poll, Close or another Rescue: the caller ensures that. The owner may go on
	// submitting meanwhile. Completions come in the order in which Poll would have taken them. With
	// an empty out it takes none, but processes the Cancels of other goroutines. It returns
	// ErrClosed after Close.
	Rescue(out []Completion) (int, error)

	// Release gives back the buffer of a Recv or RecvFrom completion. Each such completion is
	// released exactly once. A second release panics, unless other bytes in the same memory are
	// still in use: then it is not detected. Any goroutine may call it. After Close it does
	// nothing.
	Release(b Buffer)

	// Wake makes a waiting Poll, or else the next one, return without waiting any longer. Calls
	// coalesce until then. Any goroutine may call it at any time. After Close it does nothing.
	Wake() error

	// Close frees the reactor. Operations in flight are abandoned without completions. Buffers that
	// have not been released stay readable as long as the reactor is reachable. A second Close
	// returns ErrClosed. Only the owner may call Close.
	Close() error
}

// Kind is the type of an operation.
type Kind uint8

// The operations.
const (
	// Accept takes connections from the listening FD, multishot. Each completion's Res is a
	// descriptor, non-blocking and close-on-exec. A completion without More has ended the
	// operation, whatever its Res: submit it again.
	Accept Kind = iota + 1
	// Connect connects FD to Addr. Its completion's Res is 0 or an errno.
	Connect
	// Recv receives from FD, multishot, into the reactor's own buffers. Res is the number of bytes,
	// 0 for the end of the stream. It may end, without More, with some bytes, or with ENOBUFS when
	// no buffer is left. Submitted again it goes on, after ENOBUFS once a buffer is released.
	Recv
	// Send sends Buf. Res is the number of bytes that the kernel took, which may be fewer than
	// len(Buf). It is at least 1 unless it is an errno. A backend that knows the result at once
	// sets Op.Sent instead. If Op.NoWait is set and there is no room, it may end with EAGAIN rather
	// than wait: submitted again without NoWait, it waits.
	Send
	// RecvFrom receives datagrams from FD, multishot, each into its own buffer. Res is the length
	// of the received part, which may be 0. Buf holds it with its metadata (Buffer.Packet), and
	// must be released whatever the length. An error of an earlier datagram that the socket
	// reports, such as ECONNREFUSED, ends the operation but not the socket. It may also end,
	// without More, with a datagram, with EAGAIN, or with ENOBUFS as Recv does. Submitted again it
	// goes on.
	RecvFrom
	// SendTo sends the datagrams of Batch, each whole or not at all. It sends them in order as long
	// as the kernel takes them without waiting. Its only completion comes when all have been
	// processed. Res is their number, including failed ones. Batch.Failed lists those, and they do
	// not prevent others from being sent. An error that the socket has kept from an earlier
	// datagram (Batch.Earlier) fails none. A backend that is done at once sets Op.Sent, as with
	// Send. A canceled SendTo completes too: unsent datagrams have failed with ECANCELED.
	SendTo
	// Readable completes, once and with Res 0, when a receive on FD would not wait: there is data,
	// the end, or an error. It is for users that make the system call themselves, such as
	// splice(2). It may be spurious: try, and submit it again on EAGAIN. No other operation that
	// receives may be in flight on FD.
	Readable
	// Writable completes when a send on FD would not wait, like Readable for a receive. No other
	// operation that sends or connects may be in flight on FD.
	Writable
	// Hangup completes, with Res 0, when the peer of FD, a byte stream, has reset it or the
	// connection was lost. The end of the stream does not count. It consumes neither the error nor
	// earlier bytes. Other operations may be in flight on FD. One of them may report the reset in
	// its place. With More it stays in flight and may complete again. It may end with EAGAIN
	// without a cause: submit it again.
	Hangup
	// Cancel ends the operation of kind Target that is in flight for Token, if there is one. That
	// operation then completes, with ECANCELED or with the result that it has reached. Cancel
	// itself has no completion. A Cancel that another goroutine submits may take effect only at the
	// owner's next Poll. It then ends the operation of that kind and token that is in flight by
	// then.
	Cancel
	// Close closes FD at once and has no completion. No other operation may be in flight on FD, but
	// a Watch, if Target and Token name it. That completes with ECANCELED. io_uring then closes FD
	// only within the owner's next Poll or a Rescue. Submit it to the carrier of FD's operations,
	// if there were any.
	Close
	// Watch reports when FD becomes ready in the directions of Op.Edge, for an owner that makes the
	// system calls itself. It may report another direction as well. See the type Edge.
	Watch
	// Rewatch asks a Watch for the directions of Op.Edge, too. It has no completion. On Windows it
	// asks for their next edges, see the constant Rewatches. io_uring obeys in the owner's next
	// Poll.
	Rewatch

	kindWake // internal: a wake-up of the backend itself
	kindHold // internal: the end of a hold
	kindStop // internal: ends all operations, for Close
)

var kindNames = [...]string{Accept: "accept", Connect: "connect", Recv: "recv", Send: "send", RecvFrom: "recvfrom", SendTo: "sendto", Readable: "readable", Writable: "writable", Hangup: "hangup", Cancel: "cancel", Close: "close", Watch: "watch", Rewatch: "rewatch", kindWake: "wake"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// An Op is one operation. Kind determines which fields are used.
type Op struct {
	Kind   Kind
	Target Kind     // Cancel: the kind of the operation to end; Close: Watch if one is in flight
	FD     int      // all but Cancel (all backends but io_uring need it there too): the descriptor, on Windows the SOCKET
	Token  Token    // all but a Close without a Target
	Buf    []byte   // Send: at least one byte
	Addr   net.Addr // Connect: *net.TCPAddr or *net.UnixAddr
	Batch  *Batch   // SendTo: at least one datagram
	Edge   Edge     // Rewatch: EdgeIn, EdgeOut or both; Watch: EdgeIn or both, 0 is both

	// One limits the operation to one result. Accept: it ends with the first connection. Recv: it
	// takes at most one buffer in a Poll, and may end with that, without More.
	One bool

	TCP bool // FD is known to be a TCP socket, which saves a system call

	// NoWait says that an operation does not wait. Close: it waits for nothing, as with SO_LINGER
	// it would, so that Go's scheduler needs no notice. Send: it need not wait for room, so that it
	// completes before a Poll waits for other events. SendTo: nobody waits for its end, so a Poll
	// that holds need not return for it.
	NoWait bool

	// Sent is set by Submit for a Send or SendTo. Above 0, this number of bytes was taken, or of
	// datagrams processed, at once, and the operation has ended without a completion.
	Sent int
}

// A Completion is the result of an operation.
type Completion struct {
	Token Token
	Kind  Kind
	More  bool   // the operation goes on and will complete again
	Res   int    // >= 0: see the Kind; < 0: a negated errno, on Windows the portable one (see Errno there)
	Buf   Buffer // Recv with Res > 0, RecvFrom with Res >= 0: to be given back by Release

	// Peer is the address of the peer, of an Accept with Res >= 0, if it is an IP address that came
	// with the descriptor at no cost. Otherwise it is the zero value, and a system call returns the
	// address.
	Peer netip.AddrPort
}

// Errno returns the error of a failed completion, else 0.
func (c *Completion) Errno() syscall.Errno {
	if c.Res >= 0 {
		return 0
	}
	return syscall.Errno(-c.Res)
}

// A Buffer is a piece of the reactor's receive memory, off the Go heap.
type Buffer struct {
	Bytes  []byte // of RecvFrom: in the backend's layout, for Packet to read
	id     uint16 // the pool's buffer that holds the bytes
	packet bool   // the buffer belongs to the pool of datagrams
}

// ErrClosed is the error of every method but Wake after Close. It matches net.ErrClosed.
var ErrClosed = fmt.Errorf("reactor: %w", net.ErrClosed)
