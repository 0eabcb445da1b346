package sched

import (
	"reflect"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
	"github.com/suiro-go/suiro/internal/dumptext"
	"github.com/suiro-go/suiro/internal/wakers"
)

// A depot makes and recycles a runtime's envelopes of one type. It allocates them in slabs and
// keeps the slabs. So it knows every task without a list that each spawn would have to enter. It
// keeps as many cells as were recently needed at the same time (trim.go).
//
// Free cells are kept by their addresses, in magazines (Bonwick and Adams, "Magazines and Vmem",
// 2001). To take or return a cell's address does not touch the cell, which may be in another
// processor's cache. Full magazines are exchanged as a whole.
type depot[T any] struct {
	rt       *Runtime
	local    []localCells[T] // one per worker, used only by its goroutine
	releases bool            // a T may be a Releaser

	mu          atomics.Mutex
	outside     *magazine[T] // for callers that are no worker
	full, empty *magazine[T]
	fulls       int // the number of full magazines
	least       int // the smallest such number since the last trim was scheduled
	trimming    bool
	seen        int // the number of full magazines when the trim was scheduled
	slabs       [][]cell[T]
}

// localCells has two magazines. So a worker that alternates between one cell too few and one too
// many does not exchange a magazine each time.
type localCells[T any] struct {
	loaded, spare *magazine[T]
	_             [2]cpu.CacheLinePad
}

// A magazine holds up to slabCells free cells.
type magazine[T any] struct {
	next  *magazine[T]
	len   int
	cells [slabCells]*cell[T]
}

const slabCells = 64

func (m *magazine[T]) push(c *cell[T]) {
	m.cells[m.len] = c
	m.len++
}

func (m *magazine[T]) pop() *cell[T] {
	m.len--
	return m.cells[m.len]
}

// get returns an unused cell. w is the calling worker, or nil.
func (d *depot[T]) get(w *worker) *cell[T] {
	if w == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.outside.len == 0 {
			d.outside = d.load(d.outside)
		}
		return d.outside.pop()
	}
	l := &d.local[w.index]
	if l.loaded.len == 0 {
		l.loaded, l.spare = l.spare, l.loaded
		if l.loaded.len == 0 {
			d.mu.Lock()
			l.loaded = d.load(l.loaded)
			d.mu.Unlock()
		}
	}
	return l.loaded.pop()
}

// put takes back a cell that nothing refers to.
func (d *depot[T]) put(w *worker, c *cell[T]) {
	c.future, c.value, c.err = nil, *new(T), nil
	if c.waited {
		c.waited, c.waiters = false, wakers.Set[Waker]{}
	}
	c.task.home, c.task.long = nil, false
	if w == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.outside.len == slabCells {
			d.outside = d.unload(d.outside)
		}
		d.outside.push(c)
		return
	}
	l := &d.local[w.index]
	if l.loaded.len == slabCells {
		l.loaded, l.spare = l.spare, l.loaded
		if l.loaded.len == slabCells { // others spawn the tasks that this worker only runs
			d.mu.Lock()
			l.loaded = d.unload(l.loaded)
			d.mu.Unlock()
		}
	}
	l.loaded.push(c)
}

// load exchanges an empty magazine for a full one. The lock is held.
func (d *depot[T]) load(m *magazine[T]) *magazine[T] {
	if full := d.full; full != nil {
		d.full, full.next = full.next, nil
		d.fulls--
		d.least = min(d.least, d.fulls)
		m.next, d.empty = d.empty, m
		return full
	}
	slab := make([]cell[T], slabCells)
	d.slabs = append(d.slabs, slab)
	slab[0].first = true
	for i := range slab {
		c := &slab[i]
		c.depot = d
		c.task.rt, c.task.body, c.task.spawned = d.rt, c, true
		c.task.state.word.Store(stateComplete)
		m.push(c)
	}
	return m
}

// unload exchanges a full magazine for an empty one. The lock is held.
func (d *depot[T]) unload(m *magazine[T]) *magazine[T] {
	m.next, d.full = d.full, m
	d.fulls++
	d.trimLater()
	empty := d.empty
	if empty == nil {
		return new(magazine[T])
	}
	d.empty, empty.next = empty.next, nil
	return empty
}

// endAll ends every task that is not complete. The workers have ended. If a task's Cancel calls
// runtime.Goexit, endAll can be called again for the rest.
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

// countLiving makes Shutdown wait for the tasks that are not complete.
func (d *depot[T]) countLiving() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, slab := range d.slabs {
		for i := range slab {
			if t := &slab[i].task; !t.state.isComplete() {
				d.rt.drain.count(t)
			}
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

// depots are the depots of a runtime, by the type of the result.
type depots struct {
	last   atomic.Pointer[anyDepot] // the last one used from outside the workers
	mu     sync.Mutex
	byType map[reflect.Type]anyDepot
}

type anyDepot interface {
	endAll(err error)
	countLiving()
	living() int
	survey(text *dumptext.Text, s *survey) bool
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
	d := &depot[T]{rt: rt, local: make([]localCells[T], rt.cfg.Workers+rt.cfg.Spares), outside: new(magazine[T])}
	for i := range d.local {
		d.local[i].loaded, d.local[i].spare = new(magazine[T]), new(magazine[T])
	}
	d.releases = mayOwn(t)
	if rt.depots.byType == nil {
		rt.depots.byType = make(map[reflect.Type]anyDepot)
	}
	rt.depots.byType[t] = d
	return d
}
