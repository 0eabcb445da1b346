package sched

import (
	"cmp"
	"slices"
	"time"
	"unsafe"
)

// The memory of tasks is given back when it has not been needed for a while. Every trimAfter,
// as long as there is anything to trim, a depot looks how many full magazines it has had at
// least since the last time: those are more than its load needs. Of their cells it forgets
// the slabs that are free as a whole, and keeps the others. A waker that has outlived its
// task keeps its cell's memory, which is complete for good, from being used otherwise.
const (
	trimAfter = time.Second
	trimAbove = 16 // magazines: less is not worth it
)

// trimLater has the depot trimmed, if that is not on its way. The lock is held.
func (d *depot[T]) trimLater() {
	if d.trimming || d.fulls <= trimAbove {
		return
	}
	d.trimming, d.least, d.seen = true, d.fulls, d.fulls
	time.AfterFunc(trimAfter, d.trim)
}

// trim takes what was not needed out of the depot, sorts it while the lock is free, and
// puts back what is to be kept. Until then the cells are the trimmer's.
func (d *depot[T]) trim() {
	d.mu.Lock()
	changes := d.fulls != d.seen
	var idle []*cell[T]
	for ; d.least > 0; d.least-- {
		m := d.full
		d.full = m.next
		d.fulls--
		idle = append(idle, m.cells[:m.len]...)
	}
	d.mu.Unlock()
	kept, gone := wholeSlabs(idle)
	d.mu.Lock()
	defer d.mu.Unlock()
	for part := range slices.Chunk(kept, slabCells) {
		m := new(magazine[T])
		m.len = copy(m.cells[:], part)
		m.next, d.full = d.full, m
		d.fulls++
	}
	d.empty = nil
	d.trimming = false
	if len(gone) > 0 {
		slabs := make([][]cell[T], 0, len(d.slabs)-len(gone)) // endAll may be going along the old ones
		for _, slab := range d.slabs {
			if !gone[&slab[0]] {
				slabs = append(slabs, slab)
			}
		}
		d.slabs = slabs
	}
	if changes || len(gone) > 0 { // else what is left shares slabs with what is in use
		d.trimLater()
	}
}

// wholeSlabs tells the cells of slabs that are all there, which it names by their first
// cells, from the others. Cells of a slab lie side by side, so their order by address shows it.
func wholeSlabs[T any](cells []*cell[T]) (others []*cell[T], whole map[*cell[T]]bool) {
	slices.SortFunc(cells, func(a, b *cell[T]) int {
		return cmp.Compare(uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	})
	whole = make(map[*cell[T]]bool)
	const last = slabCells - 1
	for len(cells) > 0 {
		first := cells[0]
		if first.first && len(cells) > last && uintptr(unsafe.Pointer(cells[last]))-uintptr(unsafe.Pointer(first)) == last*unsafe.Sizeof(*first) {
			whole[first] = true
			cells = cells[slabCells:]
		} else {
			others = append(others, first)
			cells = cells[1:]
		}
	}
	return others, whole
}
