// Package syncx is synchronisation for tasks: a semaphore, a mutex, a reader/writer
// lock, a barrier, notifications and a cell that is initialised once. What has to
// wait parks its task, not its thread.
//
// Every operation that may wait comes in the same forms, so that tasks of either
// kind and ordinary goroutines can share one primitive:
//
//	Lock(cx)           a stackful task waits; one that is aborted meanwhile gets sched.ErrCancelled
//	LockContext(ctx)   a goroutine waits, at most until ctx ends, whose error it then gets
//	LockFuture()       a stackless task polls; so do sched.Select, sched.Timeout and the like
//	TryLock()          nobody waits
//
// A goroutine that has a result at hand when its context ends gets the result, and a
// Lock(cx) that need not wait does not ask whether its task was aborted.
//
// Waiting allocates nothing: the place in the queue is part of the future, and the
// first two forms take theirs from a pool. A future may be polled again after it was
// done, for the next wait, and one that is abandoned gives its place back: what had
// been given to it already goes to the next that waits. A future belongs to one task
// at a time. It must not be copied.
//
// What gives something back has a form for anybody, Unlock, and one for tasks,
// UnlockFrom(cx): the task that is woken then runs on the same worker next, which costs
// a few instructions where Unlock goes through the runtime's shared queue. It takes any
// task's context; nil is allowed and the same as Unlock.
//
// Waits take from the task's budget (see sched.Context.Proceed) when they are done, so
// that a loop which never finds a lock taken lets others run all the same.
//
// As with package sync, values must not be copied after first use, and what one
// goroutine did before it released something is seen by whoever acquires it then.
package syncx
