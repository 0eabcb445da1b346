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
	c := depotFor[T](rt, w).get(w)
	c.future, c.fn = f, fn
	t := &c.task
	if rt.hooked {
		rt.identify(c) // before Close can find the task
	}
	t.renew(2*oneRef | stateScheduled)
	if rt.draining.Load() {
		rt.late.Add(1)
	}
	if w != nil {
		w.count.SpawnedLocal++
		w.wake(t)
		return c
	}
	rt.spawnedRemote.Add(1)
	if err := rt.Start(); err != nil {
		c.refuse(err)
	} else if !rt.inject(t) {
		c.refuse(ErrClosed)
	}
	return c
}
