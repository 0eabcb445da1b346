// Package chanx has channels for the tasks of package sched, and for goroutines: what
// waits on them is the task, not its thread.
//
//	NewBounded    many senders, many receivers, a fixed capacity: senders wait for room
//	NewUnbounded  many senders, one receiver, no limit: sending never waits
//	NewOneshot    one value, once: the answer to a question
//	NewBroadcast  every receiver gets every value; one that is too slow is told how many it missed
//	NewWatch      the latest value only: receivers learn that it has changed
//
// # Handles
//
// Each makes a channel and one handle of either side. A handle may be used by many at
// once where it says so; Clone is for those who end at different times. Who is done
// closes its handle. When the last sender is closed, receivers get what has been sent and
// then ErrClosed. When the last receiver is closed, sends fail with ErrClosed, and the
// value is still the caller's. A handle that is dropped without Close keeps the other
// side waiting.
//
// # Forms
//
//	Recv(cx), Send(cx, v)             stackful tasks (sched.Go); they wait as in plain code
//	RecvContext(ctx), SendContext     ordinary goroutines; until ctx ends
//	TryRecv(), TrySend(v)             anybody; never wait
//	RecvFuture(), SendFuture(v)       stackless tasks, and sched.Select, Timeout, Join
//
// A send that never waits is called Send too, and takes the context of the running task,
// or nil outside of tasks: with one, waking a receiver costs less.
//
// A future that has lost a Select, has timed out or whose task was aborted has taken
// nothing and sent nothing. SendFuture.Unsent gives the value back.
//
// # Costs
//
// Nothing here allocates once it goes on, whether it waits or not: a future has its place
// in the queue of those that wait, and those of the methods are pooled. Without anybody
// who waits, an operation of a bounded channel is two atomic writes and a few loads. What
// could go on for ever takes part in the cooperative budget (see sched.Context.Proceed).
// Tasks that find the channel full or empty run on in batches: a receiver takes what is
// there before its senders run again. RecvMany and SendMany make batches cheaper still:
// with both, a value takes a third to a half of what it takes through a chan between
// goroutines, if nothing else wants the processors (see BenchmarkMPMC).
package chanx
