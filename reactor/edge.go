package reactor

import "runtime"

// An Edge is a set of changes in the readiness of a descriptor. It is the Res of a Watch's
// completions, which all have More but the last.
//
// The first edge tells the state at the registration, if the descriptor is ready at all. After that
// each change makes an edge: new bytes, datagrams or connections; room, after a send that found too
// little; the end; an error. Changes that come close together make one edge. An edge may tell again
// of a state that was told before, and it may be outdated when it is taken. So it is a hint: the
// system call shows the state. Unread data is no change and makes no edge by itself.
//
// None is lost, by this rule. Once a call has returned EAGAIN, its direction makes an edge when a
// call would succeed or fail, unless the edge is already on its way. So the owner forgets the edges
// of a direction before its call, and never after it: then an edge that arrives during the call
// stays. After EAGAIN it waits for the next one, with a Rewatch before where Rewatches says so.
//
// A receive from a stream that returns fewer bytes than it had room for has emptied the socket, and
// counts as EAGAIN. It does not after an edge with EdgeEnd, EdgeUrgent or EdgeError, and not on a
// Unix socket, where it stops behind bytes that carried descriptors.
//
// A Watch ends when it is canceled, or with a Close that names it, and then completes with
// ECANCELED. If the kernel refuses the descriptor, the Watch ends with that error at once. Submit
// itself refuses only what breaks the contract. EAGAIN, EINTR or ENOBUFS ends it without a cause, as
// any other operation: submit it again. Watch a socket that connects after its connect was begun,
// because before that the kernel says that it has ended.
//
// The owner may make system calls on the descriptor at any time and in any goroutine. No other
// operation may be in flight on it.
type Edge uint8

// The changes. EdgeEnd, EdgeUrgent and EdgeError come together with a direction in which a call
// would now return.
const (
	// EdgeIn: a receive or an accept would not wait.
	EdgeIn Edge = 1 << iota
	// EdgeOut: a send would not wait, or a connect has ended.
	EdgeOut
	// EdgeEnd: no more bytes will arrive, because the peer has ended its direction, or the
	// connection has. Bytes that arrived before may be unread.
	EdgeEnd
	// EdgeUrgent: TCP urgent data has arrived. A receive stops in front of it. Only epoll tells.
	EdgeUrgent
	// EdgeError: the connection was reset or lost, a connect has failed, or the socket has another
	// error for the next call.
	EdgeError
)

// Rewatches says that a Watch makes no further edge of a direction after one, until a Rewatch asks
// for it. The answer is the state, so what happened in between is not lost. A Watch asks for both
// directions by itself at first. Only Windows is like that: a descriptor has no edges there, and to
// ask for room that is always there would report it again and again. Elsewhere a Rewatch does
// nothing and need not be submitted.
const Rewatches = runtime.GOOS == "windows"
