// Package uring is a thin layer over io_uring: it sets a ring up, maps its queues, fills submission
// entries and enters the kernel. It has no policy: it retries nothing, chooses no flags and
// allocates no user data; the reactor above it does.
//
//	r, err := uring.New(uring.Params{Entries: 256, Flags: uring.IORING_SETUP_CLAMP})
//	if err != nil {
//		return err // EPERM or ENOSYS: the system does not offer io_uring
//	}
//	defer r.Close()
//	sqe := r.NextSQE()
//	sqe.PrepNop()
//	sqe.UserData = 42
//	r.Enter(1, true, -1, false) // submit, then wait for one completion
//	cqe := *r.CQE(0)            // copy it ...
//	r.AdvanceCQ(1)              // ... before the kernel may reuse its slot
//
// # Callers
//
// The submission side (NextSQE, Prepared, Enter) belongs to one goroutine at a time, which should
// be locked to its OS thread: the kernel runs a request's completion work on the thread that
// submitted it. The completion side (CQE, AdvanceCQ) belongs to one consumer at a time, which need
// not be the submitter. CQReady, Dropped, TaskrunPending and Overflowed only read shared words. Any
// goroutine may call them until Close.
//
// # Memory
//
// An entry holds addresses as plain integers, so the garbage collector does not see them. The
// memory to which a Prep method points must stay reachable, and unmoved, until the completion of
// that entry has arrived. The Prep methods force their arguments off the goroutine's stack, which
// Go may move. The caller must keep them reachable. Memory for buffer rings should be off-heap.
//
// Closing a ring cancels the operations in flight, but the kernel does so after Close returns:
// cancel and reap first, and only then release the memory.
//
// Outside Linux the package is empty.
package uring
