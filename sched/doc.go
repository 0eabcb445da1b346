// Package sched runs tasks on workers. A worker is a goroutine that owns a
// [Driver], its connection with the outside world, and queues of tasks; workers that
// have nothing to do take tasks from others. With a driver it is locked to its thread,
// which io_uring wants; without one it is a goroutine like others, which wakes them and
// is woken by them at a tenth of the price. The package knows nothing of sockets.
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
// It costs tens of nanoseconds and some 200 bytes, which are used again once it
// has been joined or detached, and runs on any worker, not always on the same. A
// stackful task is a plain function that awaits:
//
//	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
//		a, err := sched.Await(cx, futA)
//		...
//	})
//
// It runs on a coroutine, and from its first run on stays on one worker. A [Task]
// with a [Body] of its own is the plain form that both are made of.
//
// Neither may keep its thread locked (runtime.LockOSThread) when it awaits or returns
// from a poll: the process would die. Neither may block it: that holds up the worker. Other workers notice
// after a millisecond or so and take over what waits behind it, but that is the
// exception. A task that panics, or calls runtime.Goexit, ends with that as its
// error, and its worker goes on.
//
// # One tick of a worker
//
//  1. Poll the driver: without waiting when there are tasks to run, else parked
//     (see below). What arrived wakes the tasks it concerns.
//  2. Take what other goroutines gave this worker (its inbox), and the tasks that
//     yielded in the last tick.
//  3. Fire the timers that are due.
//  4. Wake another worker if the backlog is worth it.
//  5. Run at most 128 tasks.
//  6. Learn from how long they took: how often to look at the global queue, when
//     a backlog is worth a wake.
//  7. At most twice a millisecond, look after workers that are stuck.
//  8. Once a millisecond, let other goroutines run if any are waiting to: under
//     steady load a worker would keep its processor from them.
//
// What the tasks queued in step 5 goes to the kernel with the poll of the next
// tick, so that a tick costs one system call.
//
// # The next task
//
// comes from the batch buffer (fetched from the global queue), the LIFO slot (the
// task woken last, three times in a row at most), the worker's queues, the global
// queue, another worker's queue, and the global queue once more; from that one
// also first, every so many tasks. The files are worker.go, steal.go, ring.go,
// global.go, idle.go; each says why nothing is lost or run twice.
//
// # Parking
//
// A worker with nothing to run waits in its driver in two phases. First it
// holds: it waits for a short bounded window in a system call of which the Go
// scheduler is not told, so that it keeps its processor. Only then does it
// block in an ordinary one. Blocking at once costs a hand-over of the processor
// and two futex calls on every wait; holding spares them as long as traffic
// flows, and gives itself up when it does not. With Config.BusyPoll it looks for a moment
// before that, without waiting; the reactor's Config.Coalesce is the opposite.
//
// No wake-up is lost between the last look and the wait: see parker and
// idleState, the explorer's tests (go test -tags explore) and the model in the
// folder model.
package sched
