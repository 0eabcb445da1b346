package sched

// A Spawner is a place where a task can be spawned. It is a *Runtime, or the *Context of the
// running task, which is faster. The Context of another task, and in a goroutine, is like the
// runtime of that task.
type Spawner interface {
	where() (*Runtime, *worker)
}

var (
	_ Spawner = (*Runtime)(nil)
	_ Spawner = (*Context)(nil)
)

// Spawn starts a stackless task that polls f until it is done. Each poll may be on a different
// worker. If the runtime cannot start or has closed, the handle returns that error, and f is
// canceled if it is a Canceler. The task goes on if nobody uses the handle; Detach allows its
// memory to be used again.
//
// A nil future panics, here and in each call that takes a future, except Select and Race. So does
// a nil function.
func Spawn[T any](s Spawner, f Future[T]) *JoinHandle[T] {
	mustHaveFuture(f)
	return &JoinHandle[T]{cell: spawn(s, f, nil)}
}

// Go starts a stackful task: a plain function, which may use Await. It runs on a coroutine. Like a
// stackless task it may move to another worker at each wait: to an idle one, or away from a stuck
// one. So the results of cx.Worker and cx.Driver are valid until the next wait. fn must not be
// locked to its thread (runtime.LockOSThread) when it waits or returns: the process would die.
//
// On workers that are locked to their threads (see Config.AnyThread) the task stays on the worker
// that runs it first, and waits for that worker. fn may use its context until it returns.
func Go[T any](s Spawner, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	mustHaveFunction(fn == nil)
	return &JoinHandle[T]{cell: spawn(s, nil, fn)}
}

func spawn[T any](s Spawner, f Future[T], fn func(cx *Context) (T, error)) *cell[T] {
	rt, w := s.where()
	c := newCell(rt, w, f, fn, 2*oneRef)
	c.launch(rt, w)
	return c
}

// newCell returns a task that is to be launched. One of its references is the scheduler's, one the
// handle's.
func newCell[T any](rt *Runtime, w *worker, f Future[T], fn func(*Context) (T, error), refs uint64) *cell[T] {
	c := depotFor[T](rt, w).get(w)
	c.future, c.fn = f, fn
	if rt.hooked {
		rt.identify(c) // before Close can find the task
	}
	c.task.renew(refs | stateScheduled)
	if rt.drain.on.Load() {
		rt.drain.count(&c.task)
	}
	return c
}

// launch queues a new task, or ends it if its runtime does not accept it. The caller has a
// reference.
func (c *cell[T]) launch(rt *Runtime, w *worker) {
	t := &c.task
	if w != nil {
		w.count.SpawnedLocal++
		if w.events != nil {
			w.note(EventSpawn, t, 0)
		}
		w.wake(t)
		return
	}
	rt.spawnedRemote.Add(1)
	rt.probes.fromOutside(t, rt)
	if err := rt.Start(); err != nil {
		c.refuse(err)
	} else if !rt.inject(t) {
		c.refuse(ErrClosed)
	}
}
