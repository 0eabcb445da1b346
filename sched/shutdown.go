package sched

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
)

// How a runtime ends. Each step relies on those before.
//
//  1. stopping is set and every worker unparked. One that parks afterwards sees
//     the flag in its look after the announcement.
//  2. Each worker leaves its loop at the end of its tick. Nothing but that ends a
//     worker, so from here on tasks are found in queues only.
//  3. Each worker unwinds its own suspended stackful tasks, on its own thread: to
//     them Await fails. When all have, each closes its driver and ends: until
//     then one's tasks may use another's driver.
//  4. When all have ended, the global queue is closed: what is spawned or woken
//     from outside is refused. Before that it may still have been queued, which
//     is why the next step looks at all tasks and not at the queues.
//  5. Every task that is not complete is ended: its future is abandoned, its
//     result is ErrClosed, whoever waits for it is woken. No worker runs, so each
//     is ended by whoever seizes its state: this step, or the spawn that was
//     refused.
//  6. Done is closed.

// Close stops the workers, each at the end of its tick (at most 128 runs of
// tasks later), and waits for them. Tasks that are not done end with ErrClosed;
// stackful ones are unwound first, to which Await returns ErrCancelled. It
// returns the error that ended a worker early, if one did. It must not be called
// by a task of this runtime.
func (rt *Runtime) Close() error {
	rt.stop()
	<-rt.stopped
	rt.failMu.Lock()
	defer rt.failMu.Unlock()
	return rt.failed
}

// Shutdown waits until every spawned task is done, or ctx ends, and then closes.
// Spawning goes on to be allowed meanwhile: tasks need it to come to an end. If
// ctx ends first, the error matches its error and says what was left. A task that
// does not return keeps its worker: Shutdown does not wait for that. In a bubble of
// testing/synctest, ctx's deadline is real time if the runtime was made outside.
func (rt *Runtime) Shutdown(ctx context.Context) error {
	if rt.real {
		var release func()
		ctx, release = bubble.Context(ctx)
		defer release()
	}
	rt.draining.Store(true)
	left := rt.living()
	for ; left > 0 && ctx.Err() == nil; left = rt.living() {
		select {
		case <-rt.ended:
		case <-rt.stopped:
			return rt.Close()
		case <-ctx.Done():
		}
	}
	rt.stop()
	if left == 0 {
		return rt.Close()
	}
	err := fmt.Errorf("sched: %d tasks were left at shutdown: %w", left, context.Cause(ctx))
	select {
	case <-rt.stopped:
		return errors.Join(err, rt.Close())
	case <-rt.after(stopGrace):
		return fmt.Errorf("%w; still running: %s", err, rt.stuck())
	}
}

// stopGrace is how long Shutdown waits for workers when its time is over: enough
// for all that are not stuck.
const stopGrace = 100 * time.Millisecond

func (rt *Runtime) after(d time.Duration) <-chan time.Time {
	if rt.real {
		return bubble.After(d)
	}
	return time.After(d)
}

func (rt *Runtime) stuck() string {
	var names []string
	for _, w := range rt.workers {
		if !w.gone.Load() {
			names = append(names, fmt.Sprintf("worker %d, in a task for %v", w.index, rt.Now()-time.Duration(w.tickAt.Load())))
		}
	}
	return strings.Join(names, ", ")
}

// living is the number of spawned tasks that are not done.
//
// It is not of one moment: a task that the count has still to come to may spawn
// one where the count has been, and end. So a count of none is believed only if
// nothing was spawned meanwhile. A spawn stores the task's state and then looks
// whether anybody is draining; Shutdown says so and then counts. A spawn that is
// not in late was therefore there to be counted.
func (rt *Runtime) living() int {
	for {
		n, before := 0, rt.late.Load()
		rt.depots.each(func(d anyDepot) { n += d.living() })
		if n > 0 || rt.late.Load() == before {
			return n
		}
	}
}

// taskEnded tells Shutdown to count again.
func (rt *Runtime) taskEnded() {
	if rt.draining.Load() {
		select {
		case rt.ended <- struct{}{}:
		default: // it has not counted since the last one
		}
	}
}

// Done is closed when the workers have ended: after Close, or after a driver's
// error, which Close then returns.
func (rt *Runtime) Done() <-chan struct{} { return rt.stopped }

// stop is step 1.
func (rt *Runtime) stop() {
	rt.startOnce.Do(func() { // never started: there is nobody to wait for
		rt.stopping.Store(true)
		rt.startErr = ErrClosed
		close(rt.started)
		rt.endTasks()
	})
	<-rt.started
	rt.stopping.Store(true)
	if rt.startErr != nil {
		return
	}
	for _, w := range rt.workers {
		w.unpark()
	}
}

// endTasks are steps 4 to 6.
func (rt *Runtime) endTasks() {
	defer close(rt.stopped)
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

// endEach goes on in a deferred call if a task's Cancel exits the goroutine.
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
