package sched

import (
	"math/bits"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/atomics"
)

// An idleState knows which workers are parked and how many are searching, that
// is, looking for work in others' queues. It decides who is woken for work.
//
// At most half of the workers search, and a parked one is claimed only when
// nobody does: one searcher that finds work has the next one woken, so that a
// burst wakes the workers one after the other and as many as it needs.
//
// No work is left lying while a worker sleeps that was to be woken for it:
//
//	whoever queues work   1 queues it   2 loads searching; 0: claims a parked worker
//	a worker that parks   1 sets its bit   2 stops searching   3 looks at all queues
//	a searcher that finds 1 stops searching   2 if it was the last, and work is
//	                        left anywhere: claims a parked worker
//
// All these are sequentially consistent. Say that work was queued and nobody was
// claimed. If a searcher was seen, its end of searching comes after the queueing;
// it then looks at all queues (parking, 3) or for work that is left (finding, 2)
// and sees it. If no searcher was seen but no parked worker either, every worker
// that parks later looks after it has set its bit, and sees it.
//
// A claim that raises searching and then finds no bit may have misled others
// meanwhile: it looks for a bit once more after taking searching back.
type idleState struct {
	_         [2]cpu.CacheLinePad
	searching atomics.Int32
	_         [2]cpu.CacheLinePad
	words     []parkedWord
	workers   int32
}

// A parkedWord has a bit for each of 64 workers that is parked.
type parkedWord struct {
	bits atomics.Uint64
	_    [2]cpu.CacheLinePad
}

func (s *idleState) init(workers int) {
	s.workers = int32(workers)
	s.words = make([]parkedWord, (workers+63)/64)
}

// claim takes a worker off the parked ones for whoever has queued work. The
// worker is searching from now on; the caller must unpark it. -1: nobody needs
// to be woken.
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

// anyParkedBut is anyParked for a worker that may have announced that it waits itself.
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

// park announces that a worker is about to wait: it can be claimed now. It
// must still look at all queues.
func (s *idleState) park(worker int, searching bool) {
	s.words[worker/64].bits.Or(1 << (worker % 64))
	if searching {
		s.searching.Add(-1)
	}
}

// unpark takes the worker itself off the parked ones, and reports whether it
// was claimed before: then it is searching.
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

// startSearch makes a worker a searcher, unless half of them are already.
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

// stopSearch ends a worker's search because it has found work, and reports
// whether it was the last searcher: then it must see to what is left.
func (s *idleState) stopSearch() (last bool) { return s.searching.Add(-1) == 0 }
