// Package reactor is Suiro's contract with the kernel: one Reactor per worker,
// completion-shaped on every platform. An operation is submitted, and later a
// [Completion] says what came of it: "n bytes arrived in this buffer", never
// "the descriptor is readable". io_uring completes by nature; a
// readiness backend (epoll, kqueue) does the system call itself and reports
// its outcome, and so does IOCP of what it has not asked the kernel for in advance. The
// reverse cannot be built, so this is the shape.
//
// # Rules every backend keeps
//
//   - A completion names its target by [Token], a slot's index and generation:
//     never by pointer or by descriptor. What arrives for a slot that has been
//     given to somebody else carries the old generation and can be dropped.
//   - At most one operation of each [Kind] is in flight for a token.
//   - Every accepted operation ends in exactly one completion without More;
//     multishot ones (Accept, Recv, RecvFrom) report any number with More before it.
//   - One that ends with EINTR, EAGAIN or ENOBUFS has done nothing, for want of something
//     that passes; submitted again it goes on. Of an Accept the same is true of
//     ECONNABORTED. It is for the user to say whether, and when.
//   - A descriptor is closed (by a Close operation) only after every operation
//     on it has ended; Cancel hastens that end.
//   - Datagrams have kinds of their own, and the rules are the same: one RecvFrom and
//     one SendTo in flight for a token. A SendTo is a whole [Batch], so that the rule
//     costs no concurrency: what one run of a handler sends is one operation.
//   - Memory given with Send or SendTo, the Batch itself included, stays unchanged and reachable until its
//     completion; memory received stays valid until it is released.
//   - Poll and Close belong to the goroutine that owns the reactor, which stays
//     locked to the thread that opened it. Wake, Release, and Submit of Cancel
//     and Close may be called from anywhere; whether the other operations may,
//     [Reactor.Carrier] says. Rescue takes completions in the owner's stead, one
//     taker at a time: the users of a reactor see to that with a lock of theirs.
//
// Open picks the backend: the one that was asked for, else the best that
// starts, and it says why.
package reactor
