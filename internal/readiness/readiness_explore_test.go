//go:build explore

package readiness

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A model is a descriptor with bytes in the kernel, tasks that read them, and others that bring
// bytes, set deadlines and close.
type model struct {
	x     *explorer.Execution
	life  Life
	half  Half[*task]
	now   time.Duration
	fd    struct{ bytes, open, calls int }
	empty bool // the reader's: the last call found nothing
	reads int
	ended []error
	shuts func() // beside the close of the descriptor; nil: nothing
}

var errGivenUp = errors.New("given up")

// A task is the waker of a reader.
type task struct {
	m     *model
	woken bool
}

func (t *task) Wake() { explorer.Step(t.m.x, "wakes", &t.woken, func() { t.woken = true }) }

func newModel(x *explorer.Execution) *model {
	m := &model{x: x}
	m.fd.open = 1
	return m
}

// read is the system call: it takes a byte if there is one.
func (m *model) read() (again bool) {
	explorer.Step(m.x, "begins a call", &m.fd, func() {
		m.x.Require(m.fd.open == 1, "a call on a descriptor that is closed")
		m.fd.calls++
	})
	explorer.Step(m.x, "reads", &m.fd, func() {
		m.x.Require(m.fd.open == 1, "a descriptor was closed under a call")
		m.fd.calls--
		if again = m.fd.bytes == 0; !again {
			m.fd.bytes--
			m.reads++
		}
	})
	return again
}

func (m *model) shut() {
	explorer.Step(m.x, "closes", &m.fd, func() {
		m.x.Require(m.fd.open == 1, "closed twice")
		m.x.Require(m.fd.calls == 0, "closed under a call")
		m.fd.open = 0
	})
	if m.shuts != nil {
		m.shuts()
	}
}

// reader reads n bytes, or to an error. It gives up a wait as often as it may.
func (m *model) reader(n, givesUp int) {
	me := &task{m: m}
	for n > 0 {
		err := m.readOne(me, &givesUp)
		if err == errGivenUp {
			continue
		}
		n--
		if err != nil {
			explorer.Step(m.x, "ends", &m.ended, func() { m.ended = append(m.ended, err) })
			return
		}
	}
}

func (m *model) readOne(me *task, givesUp *int) error {
	if err := m.life.Enter(In); err != nil {
		return err
	}
	err := m.tryRead(me, givesUp)
	if m.life.Leave(In) {
		m.shut()
	}
	return err
}

func (m *model) tryRead(me *task, givesUp *int) error {
	for {
		if !m.empty || m.half.Ready() {
			m.half.Clear()
			if m.empty = m.read(); !m.empty {
				return nil
			}
		}
		var now time.Duration
		explorer.Step(m.x, "looks at the clock", &m.now, func() { now = m.now })
		deadline, done, err := m.half.Poll(&m.life, now, me)
		switch {
		case err != nil:
			return err
		case done:
			continue
		}
		if *givesUp > 0 {
			*givesUp--
			m.half.Forget()
			return errGivenUp
		}
		if deadline != 0 { // the runtime's timer
			explorer.Step(m.x, "waits for the time", &m.now, func() { m.now = max(m.now, deadline) })
			explorer.Step(m.x, "is woken by the time", &me.woken, func() { me.woken = false })
			continue
		}
		explorer.Rest(m.x, "sleeps", &me.woken, func() bool { return me.woken }, func() { me.woken = false })
	}
}

// bring is the network and the reactor: a byte, and its edge.
func (m *model) bring(n int) {
	for range n {
		explorer.Step(m.x, "brings", &m.fd, func() { m.fd.bytes++ })
		m.half.Signal()
	}
}

func (m *model) close() {
	switch first, last := m.life.Close(); {
	case last:
		m.shut()
	case first:
		m.half.Signal()
	}
}

func unbounded(t *testing.T, scenario func(x *explorer.Execution)) {
	explorer.Explore(t, explorer.Options{Preemptions: explorer.Unbounded}, scenario)
}

func bounded(t *testing.T, most int, scenario func(x *explorer.Execution)) {
	explorer.Explore(t, explorer.Options{Preemptions: most}, scenario)
}

func (m *model) allRead(n int) {
	m.x.Finally(func() { m.x.Require(m.reads == n, "%d of %d bytes were read: an edge was lost", m.reads, n) })
}

func TestExploreEdgesBesideAReader(t *testing.T) {
	unbounded(t, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(2, 0) })
		x.Go("network", func() { m.bring(2) })
		m.allRead(2)
	})
}

// Two workers report edges: the one that polls, and one that rescues.
func TestExploreEdgesOfTwoWorkers(t *testing.T) {
	bounded(t, 4, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(2, 0) })
		x.Go("one", func() { m.bring(1) })
		x.Go("two", func() { m.bring(1) })
		m.allRead(2)
	})
}

// A reader that gives a wait up, as a canceled one does, loses nothing for the next.
func TestExploreAWaitThatIsGivenUp(t *testing.T) {
	unbounded(t, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(2, 1) })
		x.Go("network", func() { m.bring(2) })
		m.allRead(2)
	})
}

func TestExploreACloseBesideAReader(t *testing.T) {
	unbounded(t, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(1, 0) })
		x.Go("closer", m.close)
		x.Finally(func() {
			x.Require(len(m.ended) == 1 && m.ended[0] == net.ErrClosed, "the reader ended with %v: an end was lost", m.ended)
			x.Require(m.fd.open == 0, "the descriptor is open")
		})
	})
}

func TestExploreACloseBesideAReaderAndAnEdge(t *testing.T) {
	bounded(t, 4, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(2, 0) })
		x.Go("network", func() { m.bring(1) })
		x.Go("closer", m.close)
		x.Finally(func() {
			x.Require(len(m.ended) == 1 && m.ended[0] == net.ErrClosed, "the reader ended with %v", m.ended)
			x.Require(m.fd.open == 0, "the descriptor is open")
		})
	})
}

func TestExploreTwoCloses(t *testing.T) {
	bounded(t, 4, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(1, 0) })
		x.Go("one", m.close)
		x.Go("two", m.close)
		x.Finally(func() { x.Require(m.fd.open == 0, "the descriptor is open") })
	})
}

// A registered is a model whose descriptor is registered with a reactor.
type watched struct {
	*model
	registration Registration
	canceled     bool // the close has ended the registration
	unreachable  bool // the close finds the reactor closed
	removed      int  // how often the token was given back
}

func newRegistered(x *explorer.Execution) *watched {
	r := &watched{model: newModel(x)}
	r.shuts = r.end
	x.Finally(func() {
		x.Require(r.fd.open == 0, "the descriptor is open")
		x.Require(r.removed == 1, "the token was given back %d times", r.removed)
	})
	return r
}

// end is the close by the last user.
func (r *watched) end() {
	if r.registration.Close() {
		explorer.Step(r.x, "cancels", &r.canceled, func() { r.canceled = true })
		if !r.unreachable || !r.registration.End() {
			return
		}
	}
	r.remove()
}

func (r *watched) remove() { explorer.Step(r.x, "removes", &r.removed, func() { r.removed++ }) }

// register is a worker: the registration ends when it is canceled, or at once if it is refused.
func (r *watched) register(refused bool) {
	if r.life.Hold() != nil {
		return
	}
	r.registration.Begin()
	if r.life.Release() {
		r.shut()
	}
	if !refused {
		explorer.Rest(r.x, "is registered", &r.canceled, func() bool { return r.canceled }, func() {})
	}
	if r.registration.End() {
		r.remove()
	}
}

func TestExploreACloseBesideARegistration(t *testing.T) {
	for _, refused := range []bool{false, true} {
		bounded(t, 4, func(x *explorer.Execution) {
			r := newRegistered(x)
			r.unreachable = refused
			x.Go("reader", func() { r.reader(1, 0) })
			x.Go("closer", r.close)
			x.Go("reactor", func() { r.register(refused) })
		})
	}
}

func TestExploreADeadlineBesideAReader(t *testing.T) {
	unbounded(t, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(1, 0) })
		x.Go("setter", func() { m.half.SetDeadline(5) })
		x.Finally(func() {
			x.Require(len(m.ended) == 1 && m.ended[0] == os.ErrDeadlineExceeded, "the reader ended with %v: a deadline was lost", m.ended)
		})
	})
}

func TestExploreADeadlineBesideAReaderAndAnEdge(t *testing.T) {
	bounded(t, 4, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("reader", func() { m.reader(2, 0) })
		x.Go("network", func() { m.bring(1) })
		x.Go("setter", func() { m.half.SetDeadline(5) })
		x.Finally(func() {
			x.Require(len(m.ended) == 1 && m.ended[0] == os.ErrDeadlineExceeded, "the reader ended with %v", m.ended)
		})
	})
}

// Two readers are two too many: the second is refused, or comes after the first.
func TestExploreASecondReader(t *testing.T) {
	bounded(t, 3, func(x *explorer.Execution) {
		m := newModel(x)
		x.Go("one", func() { m.reader(1, 0) })
		x.Go("two", func() { m.reader(1, 0) })
		x.Go("network", func() { m.bring(2) })
		x.Always(func() { x.Require(m.fd.calls <= 1, "two calls at a time") })
		x.Finally(func() {
			for _, err := range m.ended {
				x.Require(err == ErrInUse, "a reader ended with %v", err)
			}
			x.Require(m.reads+len(m.ended) == 2, "%d reads, %d refused", m.reads, len(m.ended))
		})
	})
}

// The waker that is woken is the one of the last wait, and no other goroutine writes it meanwhile.
func TestExploreTheWakerOfANewWaiter(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 4, Plain: true}, func(x *explorer.Execution) {
		m := newModel(x)
		old, young := &task{m: m}, &task{m: m}
		x.Go("waiter", func() {
			if _, done, _ := m.half.Poll(&m.life, 0, old); done {
				return
			}
			if _, done, _ := m.half.Poll(&m.life, 0, young); done {
				return
			}
			explorer.Rest(x, "sleeps", &young.woken, func() bool { return young.woken }, func() {})
		})
		x.Go("network", m.half.Signal)
		x.Finally(func() { x.Require(young.woken || old.woken || m.half.Ready(), "nobody was woken") })
	})
}
