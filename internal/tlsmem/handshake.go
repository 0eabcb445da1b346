package tlsmem

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"

	"github.com/suiro-go/suiro/internal/background"
	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/internal/semaphore"
	"github.com/suiro-go/suiro/sched"
)

// MaxFed is how many bytes may wait for a handshake before Feed asks for a pause: a record.
const MaxFed = 16 << 10

// cost is about what crypto/tls and its goroutine hold during a handshake, in bytes: the hello,
// the keys, a record and the stack.
const cost = 32 << 10

// A handshake is the state that the handshake's goroutine and the owner's task share.
//
// Lock order: mu is inside a lock of the owner's, and around that of the semaphore. No method
// of the owner is called under it.
type handshake struct {
	s      *Session
	sem    *semaphore.FIFO // nil: no limit
	limit  int             // how many handshakes may hold sem
	waiter semaphore.Waiter
	begun  bool // the task's alone: the goroutine runs, or waits for sem

	mu      sync.Mutex
	arrived sync.Cond
	in      []byte
	over    error                // why nothing more arrives
	full    bool                 // reading is paused
	stopped bool                 // the handshake is in vain
	failed  *tls.ConnectionState // of a handshake that has failed; nil: it has not
	cancel  func()               // nil: the goroutine has not begun
}

func newHandshake(s *Session) *handshake {
	h := &handshake{s: s}
	h.arrived.L = &h.mu
	h.waiter.Owner = h
	return h
}

// Whole reports whether p is enough to begin with: a record of TLS, or bytes that cannot be
// the start of one.
func Whole(p []byte) bool {
	const header, handshake, longest = 5, 22, 16 << 10
	if len(p) == 0 || p[0] != handshake {
		return len(p) > 0
	}
	if len(p) < header {
		return false
	}
	n := int(p[3])<<8 | int(p[4])
	return n > longest || len(p) >= header+n
}

// Begin starts the handshake when it has acquired sem, which at most limit handshakes hold at the
// same time. If sem is nil, it starts at once. local is the connection's own address.
func (s *Session) Begin(local net.Addr, sem *semaphore.FIFO, limit int) {
	h := s.shaking
	s.local, h.sem, h.limit, h.begun = local, sem, limit, true
	if sem == nil {
		h.Start()
		return
	}
	sem.Start(&h.waiter, limit)
}

// Begun reports whether Begin was called.
func (s *Session) Begun() bool { return s.shaking == nil || s.shaking.begun }

// Feed gives the handshake a copy of received bytes. It reports whether the owner must feed no
// more until ReadOn.
func (s *Session) Feed(p []byte) (full bool) {
	h := s.shaking
	h.mu.Lock()
	defer h.mu.Unlock()
	h.in = append(h.in, p...)
	h.arrived.Signal()
	full = len(h.in) >= MaxFed && !h.full
	h.full = h.full || full
	return full
}

// End says that nothing more arrives. io.EOF is the peer's FIN. The handshake may still
// succeed with the bytes it was fed.
func (s *Session) End(err error) {
	h := s.shaking
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends(err)
}

// ends is End. The lock is held.
func (h *handshake) ends(err error) {
	if h.over == nil {
		h.over = err
	}
	h.arrived.Signal()
}

// GiveUp ends the handshake, also one that waits for the semaphore, and cancels its context. A
// goroutine that waits for the semaphore sees both changes when it is woken, since they are made
// under one lock. A handshake that is complete stays so.
func (s *Session) GiveUp(err error) {
	h := s.shaking
	if h == nil {
		return
	}
	if h.sem != nil {
		h.sem.CancelStart(&h.waiter)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends(err)
	h.stopped = true
	if h.cancel != nil {
		h.cancel()
	}
}

// Started reports whether a handshake is in progress that does not wait for the semaphore.
func (s *Session) Started() bool {
	h := s.shaking
	return h != nil && h.begun && (h.sem == nil || !h.sem.WaitsToStart(&h.waiter))
}

// Holds is about how much memory a handshake in progress holds, in bytes.
func (s *Session) Holds() int {
	h := s.shaking
	if h == nil || !h.begun {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return cost + len(h.in)
}

// Ready gives the Session to the task, after Done(nil). rest is ciphertext that has arrived and was
// not fed: the Session keeps a copy. unsent is ciphertext that the owner has not sent. The next
// Encrypt returns it.
func (s *Session) Ready(rest, unsent []byte) {
	h := s.shaking
	h.mu.Lock()
	s.cipher = h.in
	s.cipher = append(s.cipher, rest...)
	h.mu.Unlock()
	s.out, s.shaking = unsent, nil
}

// Start implements semaphore.Owner.
func (h *handshake) Start() { background.Go(h.run) }

// Signal implements semaphore.Owner.
func (h *handshake) Signal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrived.Signal()
}

// run is the goroutine.
func (h *handshake) run() {
	err := sched.ErrGoexit
	defer func() { // also if a function of the tls.Config calls Goexit
		if h.sem != nil {
			h.sem.Release(&h.waiter)
		}
		if err != nil {
			state := h.s.tls.ConnectionState() // it would wait for a handshake that goes on
			h.mu.Lock()
			h.failed = &state
			h.mu.Unlock()
		}
		h.s.owner.Done(err)
	}()
	if p := (*sched.PanicError)(panics.Try(func() { err = h.shake() })); p != nil {
		h.s.owner.Panicked(p)
		err = p
	}
}

func (h *handshake) shake() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.mu.Lock()
	h.cancel = cancel
	stopped := h.stopped
	h.mu.Unlock()
	if stopped {
		return net.ErrClosed
	}
	return h.s.tls.HandshakeContext(ctx)
}

// read waits for the peer. The goroutine does not hold the semaphore while it waits, nor after
// read has returned an error.
func (h *handshake) read(p []byte) (int, error) {
	gone := h.sem != nil && h.dry()
	if gone {
		h.sem.Release(&h.waiter)
	}
	if err := h.await(); err != nil {
		return 0, err
	}
	if gone {
		if err := h.acquire(); err != nil {
			return 0, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n := copy(p, h.in) // nobody else takes from it
	if h.in = h.in[n:]; len(h.in) == 0 {
		h.in = nil // a silent peer is not to cost a buffer
	}
	return n, nil
}

func (h *handshake) dry() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.in) == 0
}

// await waits for bytes. It returns an error when nothing more arrives.
func (h *handshake) await() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.in) == 0 {
		switch {
		case h.over == io.EOF:
			return io.ErrUnexpectedEOF
		case h.over != nil:
			return h.over
		case h.full:
			h.full = false // the owner feeds nothing before ReadOn
			h.mu.Unlock()
			h.s.owner.ReadOn()
			h.mu.Lock()
		default:
			h.arrived.Wait()
		}
	}
	return nil
}

// acquire acquires the semaphore for the goroutine, which goes on. If the connection ends before
// that, acquire returns why.
func (h *handshake) acquire() error {
	if h.sem.Acquire(&h.waiter, h.limit) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.sem.Acquired(&h.waiter) {
		if h.stopped && h.sem.Cancel(&h.waiter) {
			return h.over
		}
		h.arrived.Wait()
	}
	return nil
}
