// Package ready has sockets on which tasks and goroutines make the system calls themselves.
//
// A call that finds nothing to do waits: it registers a Wait, and a worker's reactor reports when
// the descriptor is ready. The calls that wait for room are all woken then, and try again. Of the
// calls that take data, one is woken: it has the turn. Calls that take nothing are woken too. So
// nothing is lost when a call is dropped: it has taken nothing.
//
// # Invariants
//
// While a Wait is registered, one of three holds. A Readable (or Writable) operation is in flight
// for it. Or the socket's task is about to submit one. Or another call has the turn, or was woken
// to have it. The operation asks the kernel for its state when it is submitted, so data that
// arrived between the failed call and the operation is reported.
//
// No wake-up is lost, because each end of a turn restores one of the three. A call that finds
// nothing waits again, and Await asks the kernel if no operation is in flight. A call that succeeds
// or fails asks for the others (Pass). A call that is dropped wakes the next one (Drop), which has
// the turn then. Close, a deadline that passes and an operation that cannot be submitted wake all.
// A call that is parked waits for a timer of its own and for these three. A caller that has
// received more than it took says so by Rouse, which gives the next call the turn.
//
// A socket can be ready without data: its error queue is not empty (IP_RECVERR), or a function of
// the user leaves data. An operation for the present state would end at once each time. So after
// four reports in vain in a row, the operation is one that goes on and reports changes only
// (reactor.Op.Edges). A change that is reported while no call waits is kept for the next one. Each
// call that begins to wait, and the end of a turn, ask the kernel whether there is data, since no
// change may come. Calls that may leave data (Leaves) do not ask.
//
// The descriptor is closed when Close was called and the count of its users has fallen to 0. A user
// is a call between Enter and Leave, or an operation in flight. Users enter by compare-and-swap, so
// none enters after Close, and the count falls to 0 once.
package ready
