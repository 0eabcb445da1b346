// Package ready has sockets on which tasks and goroutines make the system calls themselves.
//
// A call that finds nothing to do waits: it registers a Wait. The first one submits the Watch of
// the socket, which then reports all edges of readiness. At an edge the calls that wait for room
// are all woken, and try again. Of the calls that take data, one is woken: it has the turn. Calls
// that take nothing are woken too. So nothing is lost when a call is dropped: it has taken nothing.
//
// # Invariants
//
// Edges are counted by direction. A call notes the count before it asks the kernel (Enter), and is
// tried again at once if the count is another one when it registers. Both the count and the list of
// waits change under the mutex. So an edge after the note is seen by the call, or finds it in the
// list. A call that has not tried (Readable) asks the kernel when it is in the list. The first edge
// of a Watch tells the state of that time, and a Watch that has ended is submitted again.
//
// An edge is for all that has come until then, and wakes one call that takes. That one has the
// turn, and while others wait, each end of a turn looks for them. A call that finds nothing waits
// again: the kernel has nothing for the others either, or there was another edge. A call that
// succeeds or fails asks the kernel for the next one (Pass). A call that is dropped wakes the next
// one (Drop), which has the turn then. Close, a deadline that passes and a Watch that cannot be
// submitted wake all. A call that is parked waits for a timer of its own and for these three. A
// caller that has received more than it took says so by Rouse, which gives the next call the turn.
//
// A socket can be ready without data: its error queue is not empty (IP_RECVERR), or a function of
// the user leaves data. Only changes make edges, so no call spins then.
//
// The descriptor is closed when Close was called and the count of its users has fallen to 0. A user
// is a call between Enter and Leave, or the Watch. Users enter by compare-and-swap, so none enters
// after Close, and the count falls to 0 once.
package ready
