// Package readiness has the state of a descriptor on which tasks and goroutines make the system
// calls themselves. They wait only when the kernel says EAGAIN.
//
// It follows package internal/poll of Go (the Life of a descriptor) and ScheduledIo of Tokio (its
// two Sides). Edges of readiness come from a reactor's Watch.
//
// # Use
//
// The owner has one Life, a Side for each direction, and a mutex for the Sides:
//
//	if !life.Hold() { return net.ErrClosed }
//	attempt := side.Try()
//	n, err := read()
//	if life.Release() { close() }
//	if err == EAGAIN {
//		mu.Lock()
//		err = side.Callable(&life)
//		... if err is nil, the reactor is asked for edges
//		side.Add(&wait, false, by)
//		mu.Unlock()
//		... sleep, then wait.Resume() and try again
//	}
//
// # Invariants
//
//  1. No edge is lost. A call notes the count of edges before it asks the kernel (Try). When it
//     registers (Add), it is woken at once if the count is another one. Both the count and the
//     lists change under the mutex. So an edge after the note is seen by the call, or finds it in a
//     list.
//  2. No end is lost. Close marks the Life, and Expire the Side. Then both wake all that are
//     registered, under the mutex. A call looks at the marks under the mutex before it registers.
//  3. An edge is for all that has come until then, and wakes one call that takes. That one has the
//     turn. A call that finds nothing registers again: the kernel has nothing for the others
//     either, or there was another edge. One that has succeeded or failed gives the turn up (Pass),
//     and the owner asks the kernel for the others. One that gives up passes the turn on (Drop),
//     also if it was woken and does not know it yet.
//  4. The descriptor is closed once, and under no system call. Each call is a user of the Life.
//     The reactor's Watch and Close itself are users, too. Users enter by compare-and-swap, so none
//     enters after Close, and the last one that leaves closes the descriptor.
package readiness
