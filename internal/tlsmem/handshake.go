package tlsmem

import (
	"context"
	"io"
	"net"
	"runtime/debug"
	"sync"

	"github.com/suiro-go/suiro/internal/turns"
	"github.com/suiro-go/suiro/sched"
)

// MaxFed is how many bytes may wait for a handshake before Feed asks for a pause: a record.
const MaxFed = 16 << 10

// cost is about what crypto/tls and its goroutine hold during a handshake, in bytes: the hello,
// the keys, a record and the stack.
const cost = 32 << 10

// A handshake is the state that the handshake's goroutine and the owner's task share.
//
// Lock order: mu is inside a lock of the owner's, and around that of the turns. No method of
// the owner is called under it.
type handshake struct {
	s     *Session
	turns *turns.Turns // nil: no bound
	most  int          // turns at a time
	turn  turns.Turn
	begun bool // the task's alone: the goroutine runs, or waits for its turn

	mu      sync.Mutex
	arrived sync.Cond
	in      []byte
	over    error  // why nothing more arrives
	full    bool   // reading is paused
	stopped bool   // the handshake is in vain
	cancel  func() // nil: the goroutine has not begun
}

func newHandshake(s *Session) *handshake {
	h := &handshake{s: s}
	h.arrived.L = &h.mu
	h.turn.Owner = h
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

// Begin starts the handshake when t gives it a turn. At most so many turns are given at a time.
// If t is nil, it starts at once. local is the connection's own address.
func (s *Session) Begin(local net.Addr, t *turns.Turns, most int) {
	h := s.shaking
	s.local, h.turns, h.most, h.begun = local, t, most, true
	if t == nil {
		h.Begin()
		return
	}
	t.Begin(&h.turn, most)
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

// GiveUp ends the handshake, also one that waits for its turn, and cancels its context. A
// goroutine that waits for its turn sees both changes when it is woken, since they are made
// under one lock. A handshake that is complete stays so.
func (s *Session) GiveUp(err error) {
	h := s.shaking
	if h == nil {
		return
	}
	if h.turns != nil {
		h.turns.GiveUp(&h.turn)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends(err)
	h.stopped = true
	if h.cancel != nil {
		h.cancel()
	}
}

// Outlives reports whether the handshake tells how the connection ended, although nothing more
// arrives, because of err. A peer that sends an alert and closes may reset the connection, and
// the alert says more.
func (s *Session) Outlives(err error) bool {
	h := s.shaking
	if h == nil || !h.begun || h.turns != nil && h.turns.WaitsToBegin(&h.turn) {
		return false
	}
	s.End(err)
	return true
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
	s.cipher = append(h.in, rest...)
	h.mu.Unlock()
	s.out, s.shaking = unsent, nil
}

// Begin implements turns.Owner.
func (h *handshake) Begin() { go h.run() }

// Signal implements turns.Owner.
func (h *handshake) Signal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrived.Signal()
}

// run is the goroutine.
func (h *handshake) run() {
	err := sched.ErrGoexit
	defer func() { // also if a function of the tls.Config calls Goexit
		if h.turns != nil {
			h.turns.Leave(&h.turn)
		}
		h.s.owner.Done(err)
	}()
	err = h.shake()
}

func (h *handshake) shake() (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &sched.PanicError{Value: v, Stack: debug.Stack()}
			h.s.owner.Panicked(p)
			err = p
		}
	}()
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

// read waits for the peer. The goroutine holds no turn while it waits, and none when read
// returns an error.
func (h *handshake) read(p []byte) (int, error) {
	gone := h.turns != nil && h.dry()
	if gone {
		h.turns.Leave(&h.turn)
	}
	if err := h.await(); err != nil {
		return 0, err
	}
	if gone {
		if err := h.awaitTurn(); err != nil {
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

// awaitTurn takes a turn for the goroutine, which goes on. If the connection ends before that,
// awaitTurn returns why.
func (h *handshake) awaitTurn() error {
	if h.turns.Ask(&h.turn, h.most) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.turns.Given(&h.turn) {
		if h.stopped && h.turns.Withdraw(&h.turn) {
			return h.over
		}
		h.arrived.Wait()
	}
	return nil
}
