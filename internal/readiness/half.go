package readiness

import (
	"net"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A Waker continues the waiter of a Half. Any goroutine may call Wake, also in vain.
type Waker interface {
	comparable
	Wake()
}

// A Half is one direction of a descriptor. Its zero value is not ready and has no deadline. It must
// not be copied.
type Half[W Waker] struct {
	state    atomics.Pointer[waiter[W]] // nil: empty; &edge: ready; else armed: the waiter is to be woken
	edge     waiter[W]                  // its address stands for "there was an edge since Clear"
	last     *waiter[W]                 // the waiter's: that of its last wait
	deadline atomics.Int64              // nanoseconds of the runtime's time; 0: none
}

// A waiter is not changed once it is in a state, since a Signal may still be reading it.
type waiter[W Waker] struct{ waker W }

// Clear is called by the waiter before it asks the kernel.
func (h *Half[W]) Clear() {
	if h.Ready() {
		h.state.CompareAndSwap(&h.edge, nil)
	}
}

// Ready reports whether there was an edge since Clear.
func (h *Half[W]) Ready() bool { return h.state.Load() == &h.edge }

// Awaited reports whether somebody waits.
func (h *Half[W]) Awaited() bool {
	w := h.state.Load()
	return w != nil && w != &h.edge
}

// Poll is called by the waiter once the kernel has nothing for it. With done it tries again, or
// gives up if there is an error: net.ErrClosed or os.ErrDeadlineExceeded. Otherwise waker is woken
// at the next signal, unless Forget is called before. The waiter also wakes itself when deadline,
// if it is not 0, has passed.
func (h *Half[W]) Poll(life *Life, now time.Duration, waker W) (deadline time.Duration, done bool, err error) {
	if h.last == nil || h.last.waker != waker {
		h.Forget()
		h.last = &waiter[W]{waker}
	}
	for {
		if life.Closed() {
			return 0, true, net.ErrClosed
		}
		deadline = time.Duration(h.deadline.Load())
		if deadline != 0 && now >= deadline {
			return 0, true, os.ErrDeadlineExceeded
		}
		switch h.state.Load() {
		case &h.edge:
			return 0, true, nil
		case h.last: // it is polled for another reason
			return deadline, false, nil
		}
		if h.state.CompareAndSwap(nil, h.last) {
			return deadline, false, nil
		}
	}
}

// Forget is called by a waiter that gives up.
func (h *Half[W]) Forget() {
	if h.last != nil {
		h.state.CompareAndSwap(h.last, nil)
	}
}

// Signal is called at an edge, and after the descriptor's state has changed. It wakes the waiter.
func (h *Half[W]) Signal() {
	if waker, waits := h.Edge(); waits {
		waker.Wake()
	}
}

// Edge is Signal for a caller that wakes the waiter itself, if there is one.
func (h *Half[W]) Edge() (waker W, waits bool) {
	if w := h.state.Swap(&h.edge); w != nil && w != &h.edge {
		return w.waker, true
	}
	return waker, false
}

// SetDeadline ends waits from at on, in the runtime's time, also one that has begun. 0: no
// deadline.
func (h *Half[W]) SetDeadline(at time.Duration) {
	h.deadline.Store(int64(at))
	h.Signal()
}

// HasDeadline reports whether there is a deadline.
func (h *Half[W]) HasDeadline() bool { return h.deadline.Load() != 0 }

// Late reports whether the deadline has passed.
func (h *Half[W]) Late(now time.Duration) bool {
	at := time.Duration(h.deadline.Load())
	return at != 0 && now >= at
}
