// Package chanx provides channels for the tasks of package sched, and for goroutines. A task that
// waits on one blocks no thread.
//
//	NewBounded    many senders, many receivers, a fixed capacity: senders wait for room
//	NewUnbounded  many senders, one receiver, no limit: sending never waits
//	NewOneshot    one value, once: the answer to a question
//	NewBroadcast  every receiver gets every value; a slow one learns how many it missed
//	NewWatch      the latest value only: receivers learn that it has changed
//
// # Handles
//
// Each function makes a channel and one handle of either side. Where its documentation says so, a
// handle may be used concurrently. Clone is for users that end at different times: each closes its
// own handle. When the last sender is closed, receivers get the remaining values and then
// ErrClosed. When the last receiver is closed, sends fail with ErrClosed, and the caller keeps the
// value. If a handle is dropped without Close, the other side keeps waiting.
//
// # Forms
//
//	Recv(ctx), Send(ctx, v)      wait, as sched.Await does: in a task or in a goroutine
//	TryRecv(), TrySend(v)        anybody; never wait
//	RecvFuture(), SendFuture(v)  stackless tasks, and sched.Select, Timeout, Join
//
// A send that never waits is called Send, too. With the context of the task that calls it, waking a
// receiver is cheaper.
//
// A future belongs to one task at a time. Its errors are those of the method that waits, without
// those of sched.Await. One that receives may be polled again after it was done, for the next
// value. A future that has lost a Select, has timed out, or whose task was aborted, has taken
// nothing and sent nothing.
//
// # Costs
//
// Operations allocate nothing, whether they wait or not: a future contains its node of the
// waiters' queue, and the futures of methods are pooled. Without waiters, an operation of a
// bounded channel takes two atomic writes and a few loads. Operations that might otherwise go on
// without end use the cooperative budget (see sched.Context.Proceed). A future uses one unit for a
// poll that makes progress. Tasks that find the channel full or empty run in batches: a receiver
// takes all values before its senders run again. From one sender to one receiver, a value takes
// about half of the time that it takes through a chan between goroutines, if nothing else uses the
// processors (see BenchmarkMPMC). RecvMany saves a little of that.
package chanx
