package reactor

import "runtime"

// An Edge is a set of changes in the readiness of a descriptor. It is the Res of a Watch's
// completions, which all have More but the last.
//
// The first edge tells the state at the registration, if the descriptor is ready at all. After that
// each change makes an edge: new bytes, datagrams or connections; room, after a send that found too
// little; the end; an error. Changes that come close together make one edge. An edge may repeat a
// state that was told before, and may be outdated when it is taken. So it is a hint: the system
// call shows the state. Unread data is no change and makes no edge by itself.
//
// None is lost, by this rule. After a call that returned EAGAIN, an edge of its direction follows
// as soon as a call would not wait. It may have come during the call already. So the owner forgets
// the edges of a direction before its call, and never after it. After EAGAIN it waits for an edge,
// with a Rewatch before where Rewatches says so.
//
// Most sockets never wait for room. Each datagram that has left makes room, and so an edge that
// wakes the worker. So a Watch may begin with EdgeIn alone. The first call that waits for room asks
// for EdgeOut by a Rewatch, which is answered by the state, if there is room by then.
//
// A receive from a TCP socket that returns fewer bytes than it had room for has emptied the socket,
// and counts as EAGAIN. It does not after an edge with EdgeEnd, EdgeUrgent or EdgeError. On a Unix
// socket it says nothing: there a receive stops behind bytes that carried descriptors.
//
// A Watch ends when it is canceled, or with a Close that names it, and then completes with
// ECANCELED. If the kernel refuses the descriptor, the Watch completes with that error. Submit
// itself refuses only calls that break the contract. EAGAIN, EINTR or ENOBUFS end a Watch without a
// cause, as they do any operation: submit it again. A socket that connects is watched after its
// connect has begun: before that, the kernel reports that it has ended.
//
// The owner may make system calls on the descriptor at any time and in any goroutine. No other
// operation may be in flight on it.
type Edge uint8

// The changes. EdgeEnd, EdgeUrgent and EdgeError come together with a direction in which a call
// would not wait.
const (
	// EdgeIn: a receive or an accept would not wait.
	EdgeIn Edge = 1 << iota
	// EdgeOut: a send would not wait, or a connect has ended.
	EdgeOut
	// EdgeEnd: no more bytes will arrive, because the peer has ended its direction, or the
	// connection has ended. Earlier bytes may be unread. On Windows it may be told only when they
	// are read.
	EdgeEnd
	// EdgeUrgent: TCP urgent data has arrived. A receive stops in front of it. On Linux one that
	// begins there fails with EAGAIN if a signal is pending: try again. Only epoll tells. Elsewhere
	// an owner that trusts short receives may find bytes behind urgent data late.
	EdgeUrgent
	// EdgeError: the connection was reset or lost, a connect has failed, or the socket has another
	// error for the next call.
	EdgeError
)

// Rewatches says that a Watch makes no further edge of a direction after one, until a Rewatch asks
// for it. The answer to a Rewatch is the state, so changes before it are not lost. A Watch itself
// asks for its directions at first. Only Windows is like that. A descriptor has no edges there, so
// room that stays would be reported again and again. Elsewhere only a direction that the Watch did
// not begin with needs a Rewatch, once.
const Rewatches = runtime.GOOS == "windows"
