// Package sched runs tasks on workers. A worker is a goroutine that owns queues of tasks and a
// [Driver], its connection with the outside world. Workers that are idle steal tasks from others.
// A worker with a driver is locked to its thread, which io_uring needs, unless the driver needs no
// thread ([Config.AnyThread]). Without a driver it is an ordinary goroutine. It then wakes
// goroutines, and is woken by them, at a tenth of the cost. The package knows nothing of sockets.
//
// # Tasks
//
// A stackless task polls a [Future] to its end:
//
//	rt := sched.New(sched.Config{})
//	defer rt.Close()
//	h := sched.Spawn(rt, fut)
//	v, err := h.Wait(ctx)
//
// It costs tens of nanoseconds and some 200 bytes. The memory is used again once the task has been
// joined or detached. Each run may be on a different worker. A stackful task is a plain function
// that awaits:
//
//	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
//		a, err := sched.Await(cx, futA)
//		...
//	})
//
// It runs on a coroutine. Any worker may run it after each wait. On workers that are locked to
// their threads it stays on the worker of its first run, because Go ties the coroutine to that
// thread. A [Task] with a [Body] of its own is the plain form that both are made of.
//
// No task may keep its thread locked (runtime.LockOSThread) when it awaits or returns from a poll:
// the process would die. No task should block its thread: that blocks the worker. After a
// millisecond or so, other workers notice and take over the tasks and I/O that wait behind it. If
// all workers are blocked, spare workers take over: see Config.Spares. But this is meant as an
// exception. A run of 10 ms or longer is reported while it lasts: see Config.SlowTask. A task that
// panics or calls runtime.Goexit ends with that as its error, and its worker goes on.
//
// # One tick of a worker
//
//  1. Poll the driver: without waiting if there are tasks to run, otherwise parked (see below).
//     Each event wakes the tasks that it concerns.
//  2. Take the tasks that other goroutines gave this worker (its inbox), and the tasks that
//     yielded in the last tick.
//  3. Fire the timers that are due.
//  4. Wake another worker if the queue is long enough.
//  5. Run at most 128 tasks.
//  6. Learn from how long they took: how often to look at the global queue, and when a queue is
//     worth a wake-up.
//  7. At most twice a millisecond, check for stuck workers, and take their tasks.
//  8. Once a millisecond, let other goroutines run if any are ready. Under steady load a worker
//     would otherwise keep its processor from them.
//
// The I/O that the tasks queue in step 5 goes to the kernel in the next tick's poll, so that a
// tick costs one system call.
//
// # The next task
//
// A worker looks for its next task in this order:
//  1. the batch buffer, fetched from the global queue
//  2. the LIFO slot: the task woken last, at most three times in a row
//  3. the worker's queues
//  4. the global queue
//  5. another worker's queue
//  6. the global queue once more
//
// After every so many tasks it takes from the global queue first. The files are worker.go,
// steal.go, ring.go, global.go and idle.go. Each explains why no task is lost or run twice.
//
// # Parking
//
// A worker with nothing to run waits in its driver in two phases. First it holds: it waits for a
// short bounded time in a system call that the Go scheduler does not know of, so it keeps its
// processor (its P). Only then does it block in an ordinary system call. To block at once would
// cost a hand-over of the processor and two futex calls for every wait. Holding avoids these while
// traffic flows, and stops when it does not. With Config.BusyPoll the worker polls for a moment
// without waiting before that. The reactor's Config.Coalesce has the opposite effect: it delays
// wake-ups.
//
// No wake-up is lost between the last check for work and the wait: see parker and idleState, the
// explorer's tests (go test -tags explore), and the model in the folder model.
package sched
