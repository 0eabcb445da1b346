// Package sched runs tasks on workers. A worker is a goroutine locked to its
// thread that owns a [Driver], its connection with the outside world, and a
// queue of tasks; it knows nothing of sockets.
//
// A [Task] runs to its next suspension point and is queued again when somebody
// wakes it. A [Future] is the usual way to write one:
//
//	rt := sched.New(sched.Config{})
//	defer rt.Close()
//	h := sched.Spawn(rt, fut)
//	v, err := h.Wait(ctx)
//
// # One tick of a worker
//
//  1. Poll the driver: without waiting when there are tasks to run, else parked
//     (see below). What arrived wakes the tasks it concerns.
//  2. Take the tasks that other goroutines woke (the inbox).
//  3. Fire the timers that are due.
//  4. Run at most 128 tasks.
//  5. Once a millisecond, let other goroutines run if any are waiting to: under
//     steady load a worker would keep its processor from them.
//
// What the tasks queued in step 4 goes to the kernel with the poll of the next
// tick, so that a tick costs one system call.
//
// # Parking
//
// A worker with nothing to run waits in its driver in two phases. First it
// holds: it waits for a short bounded window in a system call of which the Go
// scheduler is not told, so that it keeps its processor. Only then does it
// block in an ordinary one. Blocking at once costs a hand-over of the processor
// and two futex calls on every wait; holding spares them as long as traffic
// flows.
//
// No wake-up is lost between the last look and the wait: see parker.
package sched
