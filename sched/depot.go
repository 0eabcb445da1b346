package sched

import (
	"reflect"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// A depot makes and recycles a runtime's envelopes of one type. They come in
// slabs, which the depot keeps: so it knows every task there is, without a list
// that each spawn would have to enter. What was once needed at the same time
// stays for reuse until the runtime is gone, as Go's runtime keeps its
// goroutines' descriptors.
type depot[T any] struct {
	rt       *Runtime
	local    []localCells[T] // one per worker, its goroutine's alone
	releases bool            // a T may be a Releaser

	mu    sync.Mutex
	free  cellList[T]
	slabs [][]cell[T]
}

type localCells[T any] struct {
	cellList[T]
	_ [2]cpu.CacheLinePad
}

type cellList[T any] struct {
	head *cell[T]
	len  int
}

func (l *cellList[T]) push(c *cell[T]) {
	c.next, l.head = l.head, c
	l.len++
}

func (l *cellList[T]) pop() *cell[T] {
	c := l.head
	l.head, c.next = c.next, nil
	l.len--
	return c
}

// slabCells is the number of cells made, and moved between a worker and the
// others, at a time.
const slabCells = 64

// get is an unused cell. w is the calling worker, or nil.
func (d *depot[T]) get(w *worker) *cell[T] {
	if w == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.refill()
		return d.free.pop()
	}
	l := &d.local[w.index]
	if l.head == nil {
		d.mu.Lock()
		d.refill()
		for l.len < slabCells && d.free.head != nil {
			l.push(d.free.pop())
		}
		d.mu.Unlock()
	}
	return l.pop()
}

// refill makes a slab if none is free. The lock is held.
func (d *depot[T]) refill() {
	if d.free.head != nil {
		return
	}
	slab := make([]cell[T], slabCells)
	d.slabs = append(d.slabs, slab)
	for i := range slab {
		c := &slab[i]
		c.depot = d
		c.task.rt, c.task.body, c.task.envelope = d.rt, c, c
		c.task.state.word.Store(stateComplete)
		d.free.push(c)
	}
}

// put takes a cell back to which there is no reference. Wakers of its task are
// void from now on: by the generation they compare, or if they have done that
// already by the word, which is complete until it says another generation.
func (d *depot[T]) put(w *worker, c *cell[T]) {
	c.value, c.err = *new(T), nil
	if c.waited {
		c.waited, c.waiters = false, waiters{}
	}
	c.task.home, c.task.long = nil, false
	c.task.generation.Store(c.task.generation.Load() + 1) // nobody else writes it
	if w == nil {
		d.mu.Lock()
		d.free.push(c)
		d.mu.Unlock()
		return
	}
	l := &d.local[w.index]
	l.push(c)
	if l.len < 2*slabCells {
		return
	}
	d.mu.Lock() // others spawn what this worker only runs
	for l.len > slabCells {
		d.free.push(l.pop())
	}
	d.mu.Unlock()
}

// endAll ends every task that is not complete. The workers have ended. If a
// task's Cancel exits the goroutine, it can be called again for the rest.
func (d *depot[T]) endAll(err error) {
	d.mu.Lock()
	slabs := d.slabs
	d.mu.Unlock()
	for _, slab := range slabs {
		for i := range slab {
			slab[i].end(err)
		}
	}
}

// living counts the tasks that are not complete.
func (d *depot[T]) living() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, slab := range d.slabs {
		for i := range slab {
			if !slab[i].task.state.isComplete() {
				n++
			}
		}
	}
	return n
}

// depots are a runtime's, by the type of the result.
type depots struct {
	last   atomic.Pointer[anyDepot] // the one used last from outside the workers
	mu     sync.Mutex
	byType map[reflect.Type]anyDepot
}

type anyDepot interface {
	endAll(err error)
	living() int
}

func (ds *depots) each(f func(anyDepot)) {
	ds.mu.Lock()
	all := make([]anyDepot, 0, len(ds.byType))
	for _, d := range ds.byType {
		all = append(all, d)
	}
	ds.mu.Unlock()
	for _, d := range all {
		f(d)
	}
}

// A depotCache is a worker's own view of the depots.
type depotCache struct {
	last   anyDepot
	byType map[reflect.Type]anyDepot
}

func depotFor[T any](rt *Runtime, w *worker) *depot[T] {
	if w == nil {
		if last := rt.depots.last.Load(); last != nil {
			if d, ok := (*last).(*depot[T]); ok {
				return d
			}
		}
		d := depotOf[T](rt)
		last := anyDepot(d)
		rt.depots.last.Store(&last)
		return d
	}
	if d, ok := w.depots.last.(*depot[T]); ok {
		return d
	}
	t := reflect.TypeFor[T]()
	d, ok := w.depots.byType[t].(*depot[T])
	if !ok {
		d = depotOf[T](rt)
		if w.depots.byType == nil {
			w.depots.byType = make(map[reflect.Type]anyDepot)
		}
		w.depots.byType[t] = d
	}
	w.depots.last = d
	return d
}

func depotOf[T any](rt *Runtime) *depot[T] {
	t := reflect.TypeFor[T]()
	rt.depots.mu.Lock()
	defer rt.depots.mu.Unlock()
	if d, ok := rt.depots.byType[t].(*depot[T]); ok {
		return d
	}
	d := &depot[T]{rt: rt, local: make([]localCells[T], len(rt.workers))}
	d.releases = t.Kind() == reflect.Interface || t.Implements(reflect.TypeFor[Releaser]())
	if rt.depots.byType == nil {
		rt.depots.byType = make(map[reflect.Type]anyDepot)
	}
	rt.depots.byType[t] = d
	return d
}
