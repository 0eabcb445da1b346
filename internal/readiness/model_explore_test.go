//go:build explore

package readiness

import (
	"errors"
	"net"

	"github.com/suiro-go/suiro/internal/atomics"
	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A model is a descriptor with bytes in the kernel, and the calls that take them. It does what the
// owner of a Life and a Side does.
type model struct {
	x    *explorer.Execution
	life Life
	mu   atomics.Mutex
	side Side[*thread, where]

	fd       struct{ bytes, open, calls int }
	canceled bool    // the close has ended the Watch
	taken    int     // bytes
	readied  int     // calls that take nothing, and were told that there are bytes
	ended    []error // of calls that have failed
}

// where is the place where a thread is woken.
type where struct{}

type wait = Wait[*thread, where]

// A thread is a task or a goroutine that makes calls.
type thread struct {
	m     *model
	woken bool
}

func (t *thread) Wake(where) { explorer.Step(t.m.x, "wakes", &t.woken, func() { t.woken = true }) }

func newModel(x *explorer.Execution) *model {
	m := &model{x: x}
	m.fd.open = 1
	return m
}

var errGivenUp = errors.New("given up")

// taker makes n calls that take a byte each, one after another, to an error. The first waits are
// given up, as many as it may.
func (m *model) taker(n, givesUp int) {
	m.calls(true, n, givesUp, func() { m.taken++ })
}

// teller makes n calls that wait for bytes and take none.
func (m *model) teller(n int) {
	m.calls(false, n, 0, func() { m.readied++ })
}

func (m *model) calls(takes bool, n, givesUp int, done func()) {
	w := &wait{Caller: &thread{m: m}, Takes: takes}
	for n > 0 {
		switch err := m.call(w, &givesUp); err {
		case errGivenUp:
		case nil:
			n--
			explorer.Step(m.x, "is done", &m.taken, done)
		default:
			explorer.Step(m.x, "ends", &m.ended, func() { m.ended = append(m.ended, err) })
			return
		}
	}
}

func (m *model) call(w *wait, givesUp *int) error {
	for {
		if !m.life.Hold() {
			return net.ErrClosed
		}
		w.Attempt = m.side.Try()
		again := m.read(w.Takes)
		m.release()
		if !again {
			m.pass(w)
			return nil
		}
		if err := m.await(w, givesUp); err != nil {
			m.pass(w)
			return err
		}
	}
}

// read is the system call: it takes a byte, or looks whether there is one.
func (m *model) read(takes bool) (again bool) {
	explorer.Step(m.x, "begins a call", &m.fd, func() {
		m.x.Require(m.fd.open == 1, "a call on a descriptor that is closed")
		m.fd.calls++
	})
	explorer.Step(m.x, "reads", &m.fd, func() {
		m.x.Require(m.fd.open == 1, "a descriptor was closed under a call")
		m.fd.calls--
		if again = m.fd.bytes == 0; !again && takes {
			m.fd.bytes--
		}
	})
	return again
}

// await waits after a call that has found nothing.
func (m *model) await(w *wait, givesUp *int) error {
	m.mu.Lock()
	if err := m.side.Callable(&m.life); err != nil {
		m.mu.Unlock()
		return err
	}
	m.side.Add(w, false, where{})
	m.mu.Unlock()
	if *givesUp > 0 {
		*givesUp--
		m.mu.Lock()
		m.side.Drop(w, where{})
		m.mu.Unlock()
		w.Caller = &thread{m: m} // a late wake is for the one that has given up
		return errGivenUp
	}
	me := w.Caller
	explorer.Rest(m.x, "sleeps", &me.woken, func() bool { return me.woken }, func() { me.woken = false })
	m.mu.Lock()
	defer m.mu.Unlock()
	waits, err := w.Resume()
	m.x.Require(!waits, "a call was woken that still waits")
	return err
}

// pass ends the turn of a call.
func (m *model) pass(w *wait) {
	if !w.HasTurn() {
		return
	}
	m.mu.Lock()
	if m.side.Pass(w) {
		more := false
		explorer.Step(m.x, "asks", &m.fd, func() { more = m.fd.bytes > 0 })
		if more {
			m.side.Next(where{})
		}
	}
	m.mu.Unlock()
}

// bring is the network and the reactor: bytes, and one edge for all of them.
func (m *model) bring(bytes int) {
	explorer.Step(m.x, "brings", &m.fd, func() { m.fd.bytes += bytes })
	m.mu.Lock()
	m.side.Edge(where{})
	m.mu.Unlock()
}

func (m *model) expire() {
	m.mu.Lock()
	m.side.Expire(where{})
	m.mu.Unlock()
}

var errRefused = errors.New("refused")

// refuse is a reactor that does not take the Watch.
func (m *model) refuse() {
	m.mu.Lock()
	m.side.Fail(errRefused, where{})
	m.mu.Unlock()
}

func (m *model) close() {
	if !m.life.Close() {
		return
	}
	m.mu.Lock()
	m.side.Fail(net.ErrClosed, where{})
	m.mu.Unlock()
	explorer.Step(m.x, "cancels", &m.canceled, func() { m.canceled = true })
	m.release()
}

// watch is the reactor's operation, a user until it has ended.
func (m *model) watch() {
	if !m.life.Hold() {
		return
	}
	explorer.Rest(m.x, "is in flight", &m.canceled, func() bool { return m.canceled }, func() {})
	explorer.Step(m.x, "ends the Watch", &m.fd, func() {
		m.x.Require(m.fd.open == 1, "a descriptor was closed under its Watch")
	})
	m.release()
}

func (m *model) release() {
	if m.life.Release() {
		explorer.Step(m.x, "closes", &m.fd, func() {
			m.x.Require(m.fd.open == 1, "closed twice")
			m.x.Require(m.fd.calls == 0, "closed under a call")
			m.fd.open = 0
		})
	}
}
