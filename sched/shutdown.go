package sched

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/ctxend"
)

// How a runtime ends. Each step relies on the earlier ones.
//
//  1. Draining is canceled, stopping is set and every worker unparked. A worker that parks
//     afterwards sees the flag in its check after the announcement.
//  2. Each worker leaves its loop at the end of its tick. Only this ends a worker, so from here on
//     tasks are in queues only.
//  3. Suspended stackful tasks are unwound: their Await fails. A worker with a thread unwinds
//     those that it has begun. Otherwise the last worker to leave its loop unwinds all (endStacks).
//     When all workers have left, each closes its driver and ends. Until then the tasks of one may
//     use the driver of another.
//  4. When all workers have ended, the global queue is closed. From then on tasks that are spawned
//     or woken from outside are refused. Before that they may still have been queued, so the next
//     step looks at all tasks and not at the queues.
//  5. Every task that is not complete is ended: its future is abandoned, its result is ErrClosed,
//     and its waiters are woken. No worker runs. So each task is ended by the first caller that
//     seizes its state: this step, or the spawn that was refused.
//  6. Done is closed.

// Close stops the workers, each at the end of its tick (after at most 128 runs of tasks), and
// waits for them. Tasks that are not done end with ErrClosed. Before that, stackful tasks are
// unwound: their Await returns ErrCanceled. If an error ended a worker early, Close returns it. On
// a worker of this runtime, Close does nothing and returns an error that matches ErrBlocksWorker.
func (rt *Runtime) Close() error {
	if err := rt.mayWaitForEnd(); err != nil {
		return err
	}
	return rt.end()
}

// end is Close on a goroutine that may wait.
func (rt *Runtime) end() error {
	rt.stop()
	<-rt.stopped
	rt.failMu.Lock()
	defer rt.failMu.Unlock()
	return rt.failed
}

// Shutdown cancels Draining, waits until every spawned task is done or ctx ends, and then closes
// the runtime. Tasks may spawn further tasks meanwhile, since they may need them in order to end.
// If ctx ends first, the error wraps ctx's error and says how many tasks were left. Shutdown does
// not wait for a worker whose task does not return. In a bubble of testing/synctest, ctx's
// deadline is real time if the runtime was made outside. On a worker of this runtime, Shutdown does
// nothing and returns an error that matches ErrBlocksWorker.
func (rt *Runtime) Shutdown(ctx context.Context) error {
	if err := rt.mayWaitForEnd(); err != nil {
		return err
	}
	if rt.real {
		var release func()
		ctx, release = bubble.Context(ctx)
		defer release()
	}
	rt.leaving.Cancel()
	rt.drain.begin(rt)
	select {
	case <-rt.drain.done:
		return rt.end()
	case <-rt.stopped:
		return rt.end()
	case <-ctx.Done():
	}
	left := rt.drain.left.Load()
	rt.stop()
	if left == 0 {
		return rt.end()
	}
	err := fmt.Errorf("sched: %d tasks were left at shutdown: %w", left, ctxend.Reason(ctx))
	select {
	case <-rt.stopped:
		return errors.Join(err, rt.end())
	case <-rt.after(stopGrace):
		return fmt.Errorf("%w; still running: %s", err, rt.stuck())
	}
}

// stopGrace is how long Shutdown waits for workers after ctx has ended. It is enough for all
// workers that are not stuck.
const stopGrace = 100 * time.Millisecond

func (rt *Runtime) after(d time.Duration) <-chan time.Time {
	if rt.real {
		return bubble.After(d)
	}
	return time.After(d)
}

func (rt *Runtime) stuck() string {
	var names []string
	for _, w := range rt.team() {
		if !w.gone.Load() {
			names = append(names, fmt.Sprintf("worker %d, in a task for %v", w.index, rt.Now()-time.Duration(w.tickAt.Load())))
		}
	}
	return strings.Join(names, ", ")
}

// Done is closed when the workers have ended: after Close, or after a driver's error, which Close
// then returns.
func (rt *Runtime) Done() <-chan struct{} { return rt.stopped }

// stop is step 1.
func (rt *Runtime) stop() {
	rt.leaving.Cancel()
	rt.startOnce.Do(func() { // never started: there are no workers to wait for
		rt.stopping.Store(true)
		rt.startErr = ErrClosed
		close(rt.started)
		rt.endTasks()
	})
	<-rt.started
	rt.inspections.end() // first: workers that stop pass over a task that is inspected
	rt.spares.stop()
	rt.contexts.close()
	if rt.startErr != nil {
		return
	}
	for _, w := range rt.team() {
		w.unpark()
	}
}

// endTasks does steps 4 to 6.
func (rt *Runtime) endTasks() {
	defer close(rt.stopped)
	rt.inspections.end()
	rt.global.close()
	rt.long.close()
	err := rt.startErr
	if err == nil {
		err = ErrClosed
	}
	var all []anyDepot
	rt.depots.each(func(d anyDepot) { all = append(all, d) })
	endEach(all, err)
}

// endEach ends the tasks of all depots. If a task's Cancel exits the goroutine, it goes on in a
// deferred call.
func endEach(all []anyDepot, err error) {
	defer func() {
		if len(all) > 0 {
			endEach(all, err)
		}
	}()
	for len(all) > 0 {
		all[0].endAll(err)
		all = all[1:]
	}
}

func (rt *Runtime) fail(err error) {
	rt.failMu.Lock()
	if rt.failed == nil {
		rt.failed = err
	}
	rt.failMu.Unlock()
	rt.cfg.Logger.Error("sched: stopping", "error", err)
	rt.stop()
}
