// Package ready has sockets on which tasks and goroutines make the system calls themselves.
//
// A call that finds nothing to do waits: it registers a Wait. The first one submits the Watch of
// the socket, which then reports all edges of readiness. At an edge the calls that wait for room
// are all woken, and try again. Of the calls that take data, one is woken: it has the turn. Calls
// that take nothing are woken too. So nothing is lost when a call is dropped: it has taken nothing.
//
// # Invariants
//
// Package readiness has the words and the lists, and says why no edge and no end is lost. A Socket
// adds this. A Watch is submitted before the first call registers, and its first edge tells the
// state of that time. A Watch that has ended is submitted again while calls wait. One that cannot
// be submitted fails them all. A call that has not tried (Readable) asks the kernel before it
// registers, under the mutex. A call that succeeds or fails asks the kernel for the next one
// (Pass). A call that is parked waits for a timer of its own, for a close and for a deadline. A
// caller that has received more than it took says so by Rouse, which gives the next call the turn.
//
// A socket can be ready without data: its error queue is not empty (IP_RECVERR), or a function of
// the user leaves data. Only changes make edges, so no call spins then.
package ready
