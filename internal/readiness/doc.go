// Package readiness has the state of a descriptor on which tasks and goroutines make the system
// calls themselves. They wait only when the kernel says EAGAIN.
//
// It follows package internal/poll of Go (the Life of a descriptor) and ScheduledIo of Tokio (its
// two halves). Edges of readiness come from a reactor's Watch.
//
// # Use
//
//	err := life.Enter(In)           // one call at a time in each direction
//	for {
//		half.Clear()
//		n, err := read()
//		if err != EAGAIN { ... }
//		await half.Poll             // then try again
//	}
//	if life.Leave(In) { close() }
//
// # Invariants
//
//  1. No edge is lost. A call clears Ready before it asks the kernel. An edge that comes later sets
//     Ready, and Poll then does not wait. An edge that came before the clearing reports a state
//     that the call has seen. A spurious edge costs one system call.
//  2. No end is lost. Close marks the Life and then signals both halves, and SetDeadline stores the
//     deadline and then signals. Poll looks at the mark and at the deadline after the call cleared
//     Ready. So it sees the mark, or the signal comes after the clearing and is an edge as in 1.
//  3. A waker is read only while nobody writes it. A half has one waiter, the call that has
//     entered. Another waker gets another record, and a record does not change once Signal can
//     find it. A Signal that is late wakes a waiter that waits no more, in vain.
//  4. The descriptor is closed once, and under no system call. Each call is a user of the Life, and
//     so is the goroutine that begins the registration with a reactor. After Close nobody enters,
//     and the last user closes.
//  5. The token is given back once, and not before the registration has ended. The last user and
//     the end of the registration each leave a mark and then look for the other's, in one step. So
//     one of the two is the later one, and gives the token back.
//
// A call that got fewer bytes than it asked for, or EAGAIN, knows that the kernel has no more. The
// next one may wait at once unless the half is Ready. So Signal sets Ready also if it wakes a
// waiter, which may give up before it tries again.
package readiness
