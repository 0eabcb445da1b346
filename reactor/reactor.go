package reactor

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// A Reactor speaks to the kernel for one worker. See the package comment for
// the rules that bind both sides.
type Reactor interface {
	// Name is the backend's name, one of Backends.
	Name() string

	// Submit accepts an operation; what comes of it is told by Poll. The
	// Op itself may be reused as soon as Submit returns. It may stay
	// queued until the next Poll. Errors: ErrClosed after Close; an error
	// that matches the errno when the kernel refuses to take the operation,
	// in which case no completion follows. Who may call it: Carrier says so
	// for all kinds before Cancel; for Cancel and Close any goroutine.
	Submit(op *Op) error

	// Carrier is the reactor that takes the next operation on a descriptor
	// of this one, where the goroutine that submits it owns runner, a
	// reactor of the same backend: io_uring answers runner, because a
	// submission queue is its owner's alone; the others answer themselves, because they
	// know the descriptor, and take operations from any goroutine. The
	// operation completes, and is cancelled, at its carrier. Any goroutine.
	Carrier(runner Reactor) Reactor

	// Poll hands everything queued to the kernel, then fills out, which must
	// not be empty, with what has completed and returns how many. When nothing
	// has, it waits: not at all for wait 0, for as long as it takes for
	// wait < 0. It may return 0 and no error before that: after a Wake, when a
	// signal interrupts it, and on business of its own. With hold the wait
	// keeps the Go scheduler's processor, where that can be done (not on Windows), so
	// that no other goroutine can have it; it must be short (under a second), and it is
	// rough: it may end at any time before. Owner only.
	//
	// io_uring may drop completions for want of memory. Then all operations in flight end with
	// the next Polls. Accept, Connect, Recv and Send end with ENOMEM unless their result is
	// known; a Recv always does. Bytes may have gone either way, so close the descriptor. The
	// datagrams of a SendTo fail with ENOMEM unless their result is known. RecvFrom and Hangup
	// end with EAGAIN, Readable and Writable with 0: submit them again. Datagrams may be lost.
	// No bytes of a stream are delivered after lost ones.
	Poll(out []Completion, wait time.Duration, hold bool) (int, error)

	// Rescue fills out with what has completed, as Poll would, for an owner
	// that is stuck between two Polls: it neither waits nor submits, and
	// does not use up a Wake. Any goroutine, but never during Poll, Close or
	// another Rescue, which is the caller's to ensure; the owner may go on
	// submitting meanwhile. Completions come in the same order as if all
	// had been taken by Poll. With an empty out it takes none, but what others have
	// canceled is canceled. ErrClosed after Close.
	Rescue(out []Completion) (int, error)

	// Release gives back the buffer of a Recv or RecvFrom completion. Each such
	// completion is released exactly once; once too often panics, unless it
	// goes unnoticed because other bytes in the same memory are still out.
	// Any goroutine; after Close it does nothing.
	Release(b Buffer)

	// Wake makes a Poll that is waiting, or else the next one, return without
	// waiting any longer. Calls coalesce until then. Any goroutine, at any
	// time; after Close it does nothing.
	Wake() error

	// Close frees the reactor. Operations still in flight are abandoned
	// without completions; buffers that have not been released stay readable
	// for as long as the reactor is reachable. A second Close returns
	// ErrClosed. Owner only.
	Close() error
}

// Kind says what an operation does.
type Kind uint8

// The operations.
const (
	// Accept takes connections from the listening FD, multishot: each
	// completion's Res is a descriptor, non-blocking and close-on-exec. One
	// without More has ended the operation, whatever its Res: submit it again.
	Accept Kind = iota + 1
	// Connect connects FD to Addr. Its completion's Res is 0 or an errno.
	Connect
	// Recv receives from FD, multishot, into the reactor's own buffers. Res
	// is the number of bytes, 0 for end of stream. It may end, without More,
	// with some bytes, or with ENOBUFS when the buffers have run out; submitted
	// again it goes on, in the latter case once one is released.
	Recv
	// Send sends Buf. Res is the number of bytes the kernel took, which may
	// be fewer than len(Buf); it is at least 1 unless it is an errno. A
	// backend that knows the outcome at once says so in Op.Sent instead. If Op.Prompt
	// is set and there is no room, it may end with EAGAIN rather than wait:
	// submitted again without that, it waits.
	Send
	// RecvFrom receives datagrams from FD, multishot, each into a buffer of its
	// own. Res is the length of what was received of one, which may be 0, and Buf
	// holds it with all that is known of it (Buffer.Packet), to be released
	// whatever the length. An error of an earlier datagram that the socket
	// reports, such as ECONNREFUSED, ends the operation but not the socket. It may
	// also end, without More, with a datagram, with EAGAIN, or with ENOBUFS as
	// Recv does; submitted again it goes on.
	RecvFrom
	// SendTo sends the datagrams of Batch, in order as far as the kernel takes
	// them without waiting, each whole or not at all. Its only completion comes
	// when all are dealt with; Res is their number, those that failed included,
	// which Batch.Failed lists: none of them keeps the others from being sent. A
	// backend that is done at once says so in Op.Sent, as with Send. Cancelled, it
	// completes all the same, what was not sent having failed with ECANCELED.
	SendTo
	// Readable completes, once and with Res 0, when a receive on FD would not wait:
	// there is something, the end, or an error. It is for who makes the call itself,
	// splice(2) say. It may come in vain: try, and submit it again on EAGAIN. No other
	// operation that receives may be in flight on FD.
	Readable
	// Writable is the same for a send, and no other operation that sends, or connects,
	// may be in flight on FD.
	Writable
	// Hangup completes, with Res 0, when the peer of FD, a byte stream, has reset it or the connection
	// was lost. The end of the stream is none of that. It takes nothing: not the error, nor what has
	// arrived before it. Other operations may be in flight on FD; one of them may tell of the reset in
	// its place. With More it stays in flight and may
	// complete again. It may end with EAGAIN for nothing: submit it again.
	Hangup
	// Cancel ends the operation of kind Target that is in flight for Token,
	// if there is one: that one then completes, with ECANCELED or with
	// whatever it had come to. Cancel itself has no completion. One that
	// another goroutine submits may take until the owner's next Poll, and
	// end the next operation of that kind and token if there is one by then.
	Cancel
	// Close closes FD at once and has no completion. Nothing else may be in
	// flight on FD. It goes to the carrier of FD's operations, if there were
	// any.
	Close

	kindWake // internal: the backend's own wake-up
	kindHold // internal: the end of a hold
	kindStop // internal: the end of everything, for Close
)

var kindNames = [...]string{Accept: "accept", Connect: "connect", Recv: "recv", Send: "send", RecvFrom: "recvfrom", SendTo: "sendto", Readable: "readable", Writable: "writable", Hangup: "hangup", Cancel: "cancel", Close: "close", kindWake: "wake"}

// String is the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// An Op is one operation. Which fields count depends on Kind.
type Op struct {
	Kind   Kind
	Target Kind     // Cancel: the kind of the operation to end
	FD     int      // all but Cancel (where all but io_uring need it too): the descriptor, on Windows the SOCKET
	Token  Token    // all but Close
	Buf    []byte   // Send: at least one byte
	Addr   net.Addr // Connect: *net.TCPAddr or *net.UnixAddr
	Batch  *Batch   // SendTo: at least one datagram

	// One bounds what is taken from the kernel. Accept: it ends with the first connection. Recv: it
	// takes one buffer at most in a Poll, and may end with that, without More.
	One bool
	TCP bool // FD is known to be a socket of TCP, which spares asking

	// Prompt says that an operation is over at once. Close: it waits for nothing, as
	// with SO_LINGER it would, so that Go's scheduler need not be told. Send: it need
	// not wait for room, so that it completes before what a Poll waits for.
	Prompt bool

	// Sent is set by Submit for a Send or SendTo. Above 0, that many bytes were
	// taken, or datagrams dealt with, at once, and the operation has ended without
	// a completion.
	Sent int
}

// A Completion tells what came of an operation.
type Completion struct {
	Token Token
	Kind  Kind
	More  bool   // the operation goes on and will complete again
	Res   int    // >= 0: see the Kind; < 0: a negated errno, on Windows the portable one (see Errno there)
	Buf   Buffer // Recv with Res > 0, RecvFrom with Res >= 0: to be given back by Release

	// Peer is who connected, of an Accept with Res >= 0, where that is IP and came with the
	// descriptor at no cost; else it is the zero value, and can be asked for.
	Peer netip.AddrPort
}

// Errno is the error of a completion that failed, else 0.
func (c *Completion) Errno() syscall.Errno {
	if c.Res >= 0 {
		return 0
	}
	return syscall.Errno(-c.Res)
}

// A Buffer is a piece of the reactor's receive memory, off the Go heap.
type Buffer struct {
	Bytes  []byte // of RecvFrom: as the backend laid them out, for Packet to read
	id     uint16 // which of the pool's buffers the bytes lie in
	packet bool   // the pool is that of datagrams
}

// ErrClosed is what every method but Wake returns after Close. It matches
// net.ErrClosed.
var ErrClosed = fmt.Errorf("reactor: %w", net.ErrClosed)
