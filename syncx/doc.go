// Package syncx provides synchronization for tasks: a semaphore, a mutex, a reader/writer lock, a
// barrier, notifications and a cell that is initialized once. A task that waits on one blocks no
// thread.
//
// Every operation that may wait has these forms. So tasks of either kind and ordinary goroutines
// can share one primitive:
//
//	Lock(ctx)     waits, as sched.Await does: it suspends a task, or blocks a goroutine
//	LockFuture()  a stackless task polls; also for sched.Select, sched.Timeout and so on
//	TryLock()     does not wait
//
// If a result is available when ctx ends, the caller gets the result. A call that need not wait
// checks neither ctx nor whether its task was aborted.
//
// Waiting allocates nothing: the node in the queue is part of the future, and Lock(ctx) uses pooled
// futures. A future that is done may be polled again, for the next wait. An abandoned future leaves
// the queue. A lock or permit that it has already got goes to the next waiter, also if it is done
// and nobody takes its result (see sched.Undoer). A future belongs to one task at a time.
//
// Any goroutine or task may release, also another one than has acquired.
//
// A wait uses the task's budget (see sched.Context.Proceed) when it is done. So a loop that never
// finds a lock taken still lets other tasks run.
//
// As with package sync, values must not be copied after first use, and a release happens
// before the acquisition that it allows.
package syncx
