// Package reactor is Suiro's interface to the kernel: one Reactor per worker, with completions on
// every platform. An operation is submitted, and later a [Completion] reports its result: "n bytes
// arrived in this buffer", never "the descriptor is readable". io_uring works with completions
// itself. A readiness backend (epoll, kqueue) makes the system call itself and reports its result.
// IOCP does so too for operations that it has not passed to the kernel in advance. Readiness can be
// turned into completions but not the reverse, so the interface has completions.
//
// An owner that makes the system calls itself needs readiness all the same. So there is the
// operation [Watch], on every backend. [Edge] has its rules.
//
// The package is unstable: it is made for packages conn and packet, and may change in any minor
// version.
//
// # Rules of every backend
//
//   - A completion names its target by [Token], the index and generation of a slot, never by
//     pointer or descriptor. A completion for a slot that has been given to another connection
//     carries the old generation and can be dropped.
//   - At most one operation of each [Kind] is in flight for a token.
//   - Every accepted operation ends in exactly one completion without More. Multishot operations
//     (Accept, Recv, RecvFrom, Watch) report any number of completions with More before it.
//   - An operation that ends with EINTR, EAGAIN or ENOBUFS has had no effect, and the cause is
//     transient: submitted again it goes on. For an Accept this also holds for ECONNABORTED. The
//     user decides whether and when to submit it again.
//   - A descriptor is closed (by a Close operation) only after every operation on it but a Watch
//     has ended. Cancel makes an operation end early.
//   - Datagrams have their own kinds, with the same rules: one RecvFrom and one SendTo in flight
//     for a token. A SendTo is a whole [Batch], so the rule costs no concurrency: all datagrams
//     that one run of a handler sends are one operation.
//   - Memory given with Send or SendTo, the Batch itself included, stays unchanged and reachable
//     until its completion. Received memory stays valid until it is released.
//   - Only the goroutine that owns the reactor may call Poll and Close. On io_uring it stays locked
//     to the thread that opened the reactor ([NeedsThread]). Wake, Release, and Submit of Cancel,
//     Close and Rewatch may be called from any goroutine. For the other operations see
//     [Reactor.Carrier]. Rescue takes completions in place of the owner. Only one goroutine may
//     take completions at a time: the users of a reactor ensure that with their own lock.
//
// Open chooses the backend: the one that the configuration names, else the best one that starts.
// Select logs the reason.
package reactor
