package conn_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/conn"
)

var errChaos = errors.New("chaos")

// A chaos is a handler that does random things in all callbacks, and makes other goroutines do so.
// The audit and the frames (chaoswire_test.go) check the guarantees that must hold.
type chaos struct {
	world *chaosWorld
	seed  uint64
	dial  net.Addr // where connections of its own go to, nil: nowhere
	tls   bool

	others atomic.Int64 // goroutines that callbacks have started
	dials  atomic.Int32
	last   atomic.Pointer[chaosState] // of some connection, for splices
}

// A chaosState is the Value of a connection.
type chaosState struct {
	*chaosEnd
	*rand.Rand // the task's
	handle     conn.Handle
}

func (h *chaos) OnOpen(c *conn.Conn) error {
	h.begin(c, true)
	return h.act(c, 0)
}

func (h *chaos) begin(c *conn.Conn, accepted bool) *chaosState {
	addr := c.RemoteAddr()
	if !accepted {
		addr = c.LocalAddr()
	}
	e := h.world.register(addr.String(), accepted)
	s := &chaosState{chaosEnd: e, Rand: rand.New(rand.NewPCG(h.seed, uint64(e.id))), handle: c.Handle()}
	c.SetValue(s)
	h.last.Store(s)
	return s
}

func (h *chaos) OnData(c *conn.Conn) error {
	if s := stateOf(c); s != nil && s.IntN(4) > 0 {
		p, _ := c.Next(-1)
		s.feed(p)
	}
	return h.act(c, 0)
}

func (h *chaos) OnEOF(c *conn.Conn) error {
	if s := stateOf(c); s != nil {
		s.trace("OnEOF")
		p, _ := c.Next(-1)
		s.feed(p)
		s.ended()
	}
	return h.act(c, 0)
}

func (h *chaos) OnWritable(c *conn.Conn) error { return h.act(c, 0) }
func (h *chaos) OnDeadline(c *conn.Conn) error { return h.act(c, 0) }
func (h *chaos) OnDrain(c *conn.Conn)          { _ = h.act(c, 0) }

func (h *chaos) OnClose(c *conn.Conn, err error) {
	if s := stateOf(c); s != nil {
		s.trace(fmt.Sprint("OnClose: ", err))
	}
	_ = h.act(c, 1)
}

func stateOf(c *conn.Conn) *chaosState {
	s, _ := conn.ValueOf[*chaosState](c)
	return s
}

// elsewhere runs f on a goroutine that the test waits for.
func (h *chaos) elsewhere(f func()) {
	h.others.Add(1)
	go func() {
		defer h.others.Add(-1)
		f()
	}()
}

// act does one thing, and what it posts to the connection does another. Errors do not matter: most
// of it is too late for a connection that is closing.
func (h *chaos) act(c *conn.Conn, depth int) error {
	s := stateOf(c)
	if s == nil { // it ends before it began: a dial that failed
		return nil
	}
	soon := time.Duration(s.IntN(3)) * time.Millisecond
	if c.Lent() { // the bytes are somebody else's
		h.actBeside(s, soon)
		return nil
	}
	write := func(n int) {
		_ = s.send(byTask, n, func(p []byte) error {
			_, err := c.Write(p)
			return err
		})
	}
	what := s.IntN(36)
	s.trace(what)
	switch what {
	case 0, 1, 2, 3:
		write(s.IntN(1000))
	case 4, 5:
		write(frameMax)
	case 6:
		for range 16 {
			write(frameMax)
		}
	case 7:
		_ = c.Close()
	case 8:
		c.Abort()
	case 9:
		_ = c.CloseWrite()
	case 10:
		s.readClosed = true
		_ = c.CloseRead()
	case 11:
		_ = c.PauseRead()
	case 12, 13:
		_ = c.ResumeRead()
	case 14:
		_ = c.SetReadDeadline(c.Now().Add(soon))
	case 15:
		_ = c.SetWriteDeadline(c.Now().Add(soon))
	case 16:
		_ = c.SetIdleTimeout(soon + time.Millisecond)
	case 17:
		_ = c.SetLingerTimeout(soon)
	case 18:
		p := make([]byte, s.IntN(100))
		n, _ := c.Read(p)
		s.feed(p[:n])
	case 19:
		return errChaos
	case 20:
		panic(errChaos)
	case 21:
		runtime.Goexit()
	case 22:
		if other := h.last.Load(); other != s {
			s.mixed.Store(true)
			other.mixed.Store(true)
			_, _ = conn.Splice(c, other.handle, func(*conn.Spliced) {})
		}
	case 23, 24, 25:
		h.actBeside(s, soon)
	case 26:
		h.dialFrom(c)
	case 27, 28, 29:
		h.lend(c, s)
	case 30:
		time.Sleep(soon)
	case 31:
		_ = c.Flush()
	case 32:
		c.NotifySent(func(error) { _ = h.act(c, depth+1) })
	case 33, 34:
		if depth < 3 {
			_ = s.handle.Do(func(c *conn.Conn) { _ = h.act(c, depth+1) })
		}
	default:
	}
	return nil
}

// actBeside uses the connection's handle on another goroutine.
func (h *chaos) actBeside(s *chaosState, soon time.Duration) {
	n, what := s.IntN(1000), s.IntN(6)
	s.trace(fmt.Sprint("beside ", what))
	switch what {
	case 0:
		h.elsewhere(func() { _ = s.handle.Close() })
	case 1:
		h.elsewhere(func() { _ = s.handle.Abort() })
	case 2, 3:
		h.elsewhere(func() { _ = s.send(bySend, n, s.handle.Send) })
	case 4:
		h.elsewhere(func() {
			time.Sleep(soon)
			_ = s.handle.Do(func(c *conn.Conn) { _ = h.act(c, 3) })
		})
	default:
	}
}

// dialFrom dials another connection on the connection's worker, within limits: each accepts one
// more.
func (h *chaos) dialFrom(c *conn.Conn) {
	if h.dial != nil && h.dials.Add(1) <= 100 {
		_, _ = c.Dial(h.dial, h.world.audit.of(&dialed{h}))
	}
}

// A dialed is a chaos at the connecting side.
type dialed struct{ *chaos }

func (h *dialed) OnOpen(c *conn.Conn) error {
	h.begin(c, false)
	return h.act(c, 0)
}

// lend passes the connection to a goroutine for a while.
func (h *chaos) lend(c *conn.Conn, s *chaosState) {
	_ = c.SetDeadline(time.Time{})
	var rw net.Conn
	var socket *conn.Socket
	if h.tls {
		s.gaps.Store(true)
		t, under := c.LendTLS()
		rw, socket = t, under
	} else {
		socket = c.Lend()
		rw = socket
	}
	if socket == nil {
		return
	}
	s.trace("lent")
	r := rand.New(rand.NewPCG(s.Uint64(), 0))
	h.elsewhere(func() {
		quiet := true // the last read has ended by its deadline, or was none
		for range r.IntN(4) {
			if !h.useLent(rw, s, r, &quiet) {
				break
			}
		}
		s.trace("lent no more")
		switch r.IntN(4) {
		case 0, 1:
			if quiet && socket.Return(func(c *conn.Conn) error { return h.act(c, 1) }) {
				return
			}
		case 2:
			_ = socket.SetLinger(0)
		}
		_ = rw.Close()
		if h.tls {
			_ = socket.Close()
		}
	})
}

// useLent reads or writes and reports whether that can go on.
func (h *chaos) useLent(rw net.Conn, s *chaosState, r *rand.Rand, quiet *bool) bool {
	if r.IntN(2) == 0 {
		_ = rw.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		err := s.send(bySocket, r.IntN(frameMax), func(p []byte) error {
			_, err := rw.Write(p)
			if err != nil {
				s.torn.Store(true)
			}
			return err
		})
		return err == nil
	}
	p := make([]byte, 1+r.IntN(1<<14))
	_ = rw.SetReadDeadline(time.Now().Add(time.Millisecond))
	n, err := rw.Read(p)
	s.feed(p[:n])
	if *quiet = errors.Is(err, os.ErrDeadlineExceeded); *quiet {
		err = nil
	}
	if err == io.EOF && !h.world.draining.Load() {
		s.ended()
	}
	return err == nil
}
