package sched

import (
	"cmp"
	"slices"
	"time"
	"unsafe"
)

// The memory of tasks is freed when it has not been needed for a while. Every trimAfter, as long
// as there is anything to trim, a depot takes the smallest number of full magazines since the last
// trim. Its load does not need these magazines. The depot frees the slabs whose cells are all in
// them, and keeps the other cells. A waker whose task has ended keeps its cell in memory: the cell
// stays complete for good, and that memory is not used for anything else.
const (
	trimAfter = time.Second
	trimAbove = 16 // magazines; fewer are not worth a trim
)

// trimLater schedules a trim, unless one is scheduled. The lock is held.
func (d *depot[T]) trimLater() {
	if d.trimming || d.fulls <= trimAbove {
		return
	}
	d.trimming, d.least, d.seen = true, d.fulls, d.fulls
	time.AfterFunc(trimAfter, d.trim)
}

// trim takes unneeded magazines out of the depot, sorts their cells without the lock, and puts
// back the cells to keep. Until then these cells belong to trim.
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
		slabs := make([][]cell[T], 0, len(d.slabs)-len(gone)) // a copy, because endAll may be reading the old slice
		for _, slab := range d.slabs {
			if !gone[&slab[0]] {
				slabs = append(slabs, slab)
			}
		}
		d.slabs = slabs
	}
	if changes || len(gone) > 0 { // otherwise all that is left shares slabs with cells in use
		d.trimLater()
	}
}

// wholeSlabs separates the cells of complete slabs from the others. It names a slab by its first
// cell. The cells of a slab lie side by side, so sorting them by address shows complete slabs.
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
