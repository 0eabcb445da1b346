package conn

import (
	"context"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// maxEarly is how much may wait for a handshake before reading is paused.
const maxEarly = 64 << 10

// Begin implements turns.Owner.
func (l *layer) Begin() { go l.shake() }

// Signal implements turns.Owner.
func (l *layer) Signal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived.Signal()
}

// awaitTurn takes a turn for a goroutine that goes on. If its connection ends before, it
// returns why.
func (l *layer) awaitTurn() error {
	t := l.gate.turns
	if t.Ask(&l.turn, l.gate.limit(l.conn)) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !t.Given(&l.turn) {
		if l.stopped && t.Withdraw(&l.turn) {
			return l.over
		}
		l.arrived.Wait()
	}
	return nil
}

// shake is the handshake's goroutine.
func (l *layer) shake() {
	err := sched.ErrGoexit
	defer func() { // also if a function of the tls.Config calls Goexit
		if l.gate.turns != nil {
			l.gate.turns.Leave(&l.turn)
		}
		_ = l.conn.tell(command{kind: cmdInner, do: func(c *Conn) { l.done(c, err) }})
	}()
	err = l.handshake()
}

func (l *layer) handshake() (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &PanicError{Value: v, Stack: debug.Stack()}
			l.conn.group.cfg.Logger.Error("conn: TLS handshake panicked", "remote", l.conn.remote(), "panic", v, "stack", string(p.Stack))
			err = p
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.mu.Lock()
	l.cancel = cancel
	over := l.stopped
	l.mu.Unlock()
	if over {
		return net.ErrClosed
	}
	return l.tls.HandshakeContext(ctx)
}

// feed gives the handshake what has come. It reports whether that is enough for now.
func (l *layer) feed(p []byte) (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.in = append(l.in, p...)
	l.arrived.Signal()
	full = len(l.in) >= maxEarly && !l.full
	l.full = l.full || full
	return full
}

// end says that nothing more comes.
func (l *layer) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends(err)
}

// ends is end for those that hold the lock.
func (l *layer) ends(err error) {
	if l.over == nil {
		l.over = err
	}
	l.arrived.Signal()
}

// stop says that the handshake is in vain, too. A goroutine that waits for its turn sees
// both when it is woken: that is why they change under one lock.
func (l *layer) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends(err)
	l.stopped = true
	if l.cancel != nil {
		l.cancel()
	}
}

// A rawConn is a layer as what crypto/tls reads from and writes to.
type rawConn layer

var _ net.Conn = (*rawConn)(nil)

// Read implements net.Conn.
func (r *rawConn) Read(p []byte) (int, error) {
	if r.ready {
		if r.lent != nil {
			return r.lent.Read(p)
		}
		if len(r.cipher) == 0 {
			return 0, errDry
		}
		n := copy(p, r.cipher)
		r.cipher = r.cipher[n:]
		return n, nil
	}
	return (*layer)(r).hear(p)
}

// hear is Read for the handshake's goroutine, which waits in it for the peer. It holds no
// turn while it waits, and none when it returns an error.
func (l *layer) hear(p []byte) (int, error) {
	t := l.gate.turns
	gone := t != nil && l.dry()
	if gone {
		t.Leave(&l.turn)
	}
	if err := l.await(); err != nil {
		return 0, err
	}
	if gone {
		if err := l.awaitTurn(); err != nil {
			return 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := copy(p, l.in) // nobody else takes from it
	l.in = l.in[n:]
	return n, nil
}

func (l *layer) dry() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.in) == 0
}

// await waits until something is there, or until nothing more comes.
func (l *layer) await() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.in) == 0 {
		switch {
		case l.over == io.EOF:
			return io.ErrUnexpectedEOF
		case l.over != nil:
			return l.over
		case l.full:
			l.full = false
			l.readOn()
		}
		l.arrived.Wait()
	}
	return nil
}

// readOn resumes reading for a handshake that has read all there was.
func (l *layer) readOn() {
	_ = l.conn.tell(command{kind: cmdInner, do: func(c *Conn) {
		if !l.ready {
			_ = c.ResumeRead()
		}
	}})
}

// Write implements net.Conn.
func (r *rawConn) Write(p []byte) (int, error) {
	c := r.conn
	if r.ready {
		if r.lent != nil {
			return r.lent.Write(p)
		}
		r.out = append(c.driver.buffers.Grow(r.out, len(p)), p...)
		return len(p), nil
	}
	own := append([]byte(nil), p...)
	if err := c.tell(command{kind: cmdRaw, data: own}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close implements net.Conn. Unless it is lent, the connection ends otherwise.
func (r *rawConn) Close() error {
	if r.ready && r.lent != nil {
		return r.lent.Close()
	}
	return nil
}

// LocalAddr implements net.Conn.
func (r *rawConn) LocalAddr() net.Addr { return r.local }

// RemoteAddr implements net.Conn.
func (r *rawConn) RemoteAddr() net.Addr { return r.conn.remote() }

// SetDeadline implements net.Conn; the task sees to it, unless it is lent.
func (r *rawConn) SetDeadline(t time.Time) error {
	if r.ready && r.lent != nil {
		return r.lent.SetDeadline(t)
	}
	return nil
}

// SetReadDeadline is the same.
func (r *rawConn) SetReadDeadline(t time.Time) error {
	if r.ready && r.lent != nil {
		return r.lent.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline is the same.
func (r *rawConn) SetWriteDeadline(t time.Time) error {
	if r.ready && r.lent != nil {
		return r.lent.SetWriteDeadline(t)
	}
	return nil
}

// dryError is that there is nothing to read now. crypto/tls keeps an error for good
// unless it is temporary.
type dryError struct{}

var errDry net.Error = dryError{}

func (dryError) Error() string   { return "conn: nothing to decrypt" }
func (dryError) Timeout() bool   { return false }
func (dryError) Temporary() bool { return true }
