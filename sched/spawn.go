package sched

// A Spawner is where a task can be spawned: a *Runtime, from anywhere, or the
// *Context of the task that spawns it, which is faster.
type Spawner interface {
	where() (*Runtime, *worker)
}

var (
	_ Spawner = (*Runtime)(nil)
	_ Spawner = (*Context)(nil)
)

// Spawn starts a stackless task that polls f to its end, on any worker and not
// always the same. A runtime that cannot start, or has closed, shows in the
// handle's error, and f is then told by Cancel if it is a Canceler. The task goes
// on when the handle is forgotten; Detach allows its memory to be used again.
func Spawn[T any](s Spawner, f Future[T]) *JoinHandle[T] {
	return &JoinHandle[T]{cell: spawn(s, f, nil)}
}

// Go starts a stackful task: a plain function, which may use Await. It runs on a
// coroutine of the worker that runs it first, and stays on that worker. The
// context is fn's until it returns.
func Go[T any](s Spawner, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	return &JoinHandle[T]{cell: spawn(s, nil, fn)}
}

func spawn[T any](s Spawner, f Future[T], fn func(cx *Context) (T, error)) *cell[T] {
	rt, w := s.where()
	c := newCell(rt, w, f, fn, 2*oneRef)
	c.launch(rt, w)
	return c
}

// newCell is a task that is to be launched. Of its references one is the scheduler's, one
// the handle's.
func newCell[T any](rt *Runtime, w *worker, f Future[T], fn func(*Context) (T, error), refs uint64) *cell[T] {
	c := depotFor[T](rt, w).get(w)
	c.future, c.fn = f, fn
	if rt.hooked {
		rt.identify(c) // before Close can find the task
	}
	c.task.renew(refs | stateScheduled)
	if rt.draining.Load() {
		rt.late.Add(1)
	}
	return c
}

// launch queues a new task, or ends it if its runtime takes none. The caller has a reference.
func (c *cell[T]) launch(rt *Runtime, w *worker) {
	t := &c.task
	if w != nil {
		w.count.SpawnedLocal++
		w.wake(t)
		return
	}
	rt.spawnedRemote.Add(1)
	if err := rt.Start(); err != nil {
		c.refuse(err)
	} else if !rt.inject(t) {
		c.refuse(ErrClosed)
	}
}
