package sched

import (
	"math/bits"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// An idleState records which workers are parked and how many are searching, that is, looking for
// work in others' queues. It decides which worker is woken for work.
//
// At most half of the workers search, and a parked worker is claimed only when nobody searches. A
// searcher that finds work causes the next worker to be woken. So a burst wakes one worker after
// the other, and as many as it needs.
//
// No work is left waiting while a worker that should be woken for it sleeps:
//
//	who queues work        1 queues it   2 loads searching; 0: claims a parked worker
//	a worker that parks    1 sets its bit   2 stops searching   3 checks all queues
//	a searcher that finds  1 stops searching   2 if it was the last, and work is
//	                         left anywhere: claims a parked worker
//
// All these steps are sequentially consistent. Assume that work was queued and no worker was
// claimed. If a searcher was seen, its search ends after the queueing. It then checks all queues
// (parking, step 3) or looks for work that is left (finding, step 2), and sees the work. If
// neither a searcher nor a parked worker was seen, every worker that parks later checks all queues
// after it has set its bit, and sees the work.
//
// A claim that raises searching and then finds no bit may have misled others meanwhile. So after
// it has lowered searching again, it looks for a bit once more.
type idleState struct {
	_         [2]cpu.CacheLinePad
	searching atomics.Int32
	_         [2]cpu.CacheLinePad
	words     []parkedWord
	workers   int32
}

// A parkedWord has a bit for each of 64 workers; the bits of parked workers are set.
type parkedWord struct {
	bits atomics.Uint64
	_    [2]cpu.CacheLinePad
}

func (s *idleState) init(workers int) {
	s.workers = int32(workers)
	s.words = make([]parkedWord, (workers+63)/64)
}

// claim takes a worker off the parked ones for a caller that has queued work. The worker counts as
// searching from now on; the caller must unpark it. -1: no worker needs to be woken.
func (s *idleState) claim() int {
	for s.anyParked() {
		if !s.searching.CompareAndSwap(0, 1) {
			return -1
		}
		for i := range s.words {
			w := &s.words[i].bits
			for set := w.Load(); set != 0; set = w.Load() {
				bit := uint64(1) << bits.TrailingZeros64(set)
				if w.And(^bit)&bit != 0 {
					return i*64 + bits.TrailingZeros64(bit)
				}
			}
		}
		s.searching.Add(-1)
	}
	return -1
}

func (s *idleState) anyParked() bool {
	for i := range s.words {
		if s.words[i].bits.Load() != 0 {
			return true
		}
	}
	return false
}

// anyParkedBut is anyParked without one worker, which may have announced itself that it waits.
func (s *idleState) anyParkedBut(worker int) bool {
	for i := range s.words {
		bits := s.words[i].bits.Load()
		if worker/64 == i {
			bits &^= 1 << (worker % 64)
		}
		if bits != 0 {
			return true
		}
	}
	return false
}

// park announces that a worker is about to wait: it can be claimed from now on. The worker must
// still check all queues.
func (s *idleState) park(worker int, searching bool) {
	s.words[worker/64].bits.Or(1 << (worker % 64))
	if searching {
		s.searching.Add(-1)
	}
}

// unpark takes the worker itself off the parked ones. It reports whether the worker was claimed
// before; if so, it counts as searching.
func (s *idleState) unpark(worker int) (claimed bool) {
	bit := uint64(1) << (worker % 64)
	return s.words[worker/64].bits.And(^bit)&bit == 0
}

func (s *idleState) isParked(worker int) bool {
	return s.words[worker/64].bits.Load()>>(worker%64)&1 != 0
}

func (s *idleState) parked() (n int) {
	for i := range s.words {
		n += bits.OnesCount64(s.words[i].bits.Load())
	}
	return n
}

// startSearch makes a worker a searcher, unless half of the workers are searching already.
func (s *idleState) startSearch() bool {
	for {
		n := s.searching.Load()
		if n > 0 && 2*(n+1) > s.workers {
			return false
		}
		if s.searching.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// stopSearch ends a worker's search because it has found work. It reports whether this was the
// last searcher, which must then check for work that is left.
func (s *idleState) stopSearch() (last bool) { return s.searching.Add(-1) == 0 }
