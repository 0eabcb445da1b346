package conn

import (
	"crypto/tls"
	"io"
	"net"
	"sync"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/turns"
	"github.com/suiro-go/suiro/reactor"
)

// A layer is what makes a connection's bytes ciphertext. crypto/tls does it, over a
// transport in memory (rawConn) that has two lives. While hands are shaken, a goroutine
// blocks in it: what comes in is fed to it, and what it writes are commands (cmdRaw), so
// that it is a peer of the task's like any other. From then on (ready) it is the task's
// alone, and never blocks: what has come is decrypted at once, into Conn.in, until the
// transport is dry, which crypto/tls takes for an error that passes. So the handler
// reads from where it always does. What it writes is plaintext in Conn.queued as ever,
// and becomes ciphertext when it becomes a flight. A third life is that of a connection
// that is lent: the transport is a Socket, what comes and goes is not looked at, and the
// tls.Conn belongs to goroutines. One life ends where the next begins: with the lock of
// the inbox, under which Return tells takeBack, or with what passes the tls.Conn on.
type layer struct {
	gate *tlsGate
	conn *Conn
	tls  *tls.Conn

	// The task's alone.
	local  net.Addr
	begun  bool      // the handshake is under way, or waits for its turn
	ready  bool      // it is complete
	ended  bool      // by the peer's close-notify
	said   bool      // our close-notify
	held   []command // until it is ready
	early  int       // bytes of held, which count against MaxWrite
	cipher []byte    // what has come, for the transport
	out    []byte    // what the transport was given, to be sent
	state  *tls.ConnectionState
	lent   *Socket // goroutines have tls, over this; nil: the task has

	turn  turns.Turn // of gate.turns
	hands            // the goroutine's and the task's
}

func newLayer(c *Conn, g *tlsGate) *layer {
	l := &layer{gate: g, conn: c}
	l.hands.arrived.L = &l.hands.mu
	l.turn.Owner = l
	if g.client {
		l.tls = tls.Client((*rawConn)(l), g.cfg)
	} else {
		l.tls = tls.Server((*rawConn)(l), g.cfg)
	}
	return l
}

// hold keeps what another goroutine asks for until there is plaintext. It reports
// whether it does.
func (l *layer) hold(cmd *command) bool {
	if l.ready || cmd.kind != cmdSend && cmd.kind != cmdDo && cmd.kind != cmdSplice {
		return false
	}
	l.keep(*cmd)
	return true
}

// keep holds a command until the handshake is complete.
func (l *layer) keep(cmd command) {
	l.held = append(l.held, cmd)
	l.early += len(cmd.data)
}

// early is how much of what was written waits for the handshake, in bytes.
func (c *Conn) early() int {
	if !c.is(layered) {
		return 0
	}
	return c.extras.layer.early
}

// dropEarly is for the end of the connection: the ledger has nothing of it then.
func (c *Conn) dropEarly() {
	if c.is(layered) {
		c.extras.layer.held, c.extras.layer.early = nil, 0
	}
}

// done is the end of the handshake.
func (l *layer) done(c *Conn, err error) {
	switch {
	case c.is(closing | broken):
		return
	case err != nil:
		l.gate.refused(c, err)
		return
	}
	l.mu.Lock()
	l.cipher, l.in = append(l.in, c.in.Unread...), nil // the latter while reading was paused
	l.mu.Unlock()
	c.in.Unread = nil
	c.detach()
	c.clear(unseen)
	l.ready = true
	l.out, c.out.Queued = c.out.Queued, nil // ciphertext: what the handshake wrote
	_ = c.ResumeRead()                      // if it had too much to read
	c.extras.clock.Set(deadlines.Read, 0)
	c.handler = l.gate.inner
	c.clear(endSeen | drained) // by the gate alone
	c.check(c.handler.OnOpen(c))
	held := l.held
	l.held, l.early = nil, 0
	for i := range held {
		c.exec(&held[i])
	}
	if c.sealedIn() && !c.is(closing|broken|deaf) {
		c.unseal()
	}
}

// outlives reports whether the handshake is to tell how the connection ended, though it
// has: a peer that sends an alert and closes resets it if it has not read all.
func (l *layer) outlives(err error) bool {
	if l.ready || !l.begun || l.conn.is(closing|broken) {
		return false
	}
	if t := l.gate.turns; t != nil && t.WaitsToBegin(&l.turn) {
		return false
	}
	l.end(err)
	return true
}

// receiveSealed is receive for a connection whose handshake is complete.
func (c *Conn) receiveSealed(b reactor.Buffer) {
	l := c.extras.layer
	if c.is(closing|broken|deaf) || l.ended {
		c.drop(len(b.Bytes))
		c.home.R.Release(b)
		return
	}
	c.decipher(b.Bytes)
	c.home.R.Release(b)
	c.offerUnsealed()
}

// decipher decrypts what has come. The layer keeps none of p.
func (c *Conn) decipher(p []byte) {
	l := c.extras.layer
	l.cipher = p
	c.unseal()
	l.cipher = nil
}

// offerUnsealed has the handler look at what unseal has got.
func (c *Conn) offerUnsealed() {
	if c.is(unseen) && !c.is(waiting|closing|broken) && !c.spent() {
		c.offer()
	}
}

// unseal decrypts all that has come, behind what is unread, and has unseen say so.
func (c *Conn) unseal() {
	l := c.extras.layer
	for {
		n, err := l.tls.Read(c.in.Space(&c.driver.buffers, min(max(len(l.cipher), bufs.Few/8), 16<<10)))
		if n > 0 {
			c.in.Extend(n)
			c.set(unseen)
		}
		switch {
		case err == nil:
			continue
		case err == error(errDry):
			return
		case err == io.EOF:
			l.ended = true
			c.set(ended)
			return
		}
		if c.is(unseen) && !c.is(waiting) {
			c.offer() // what came before the error is not lost with it
		}
		if l.lent == nil { // else whoever has it now reads the same
			c.conclude(c.opError("read", err))
		}
		return
	}
}

// seal encrypts what is queued, unless something is in flight: that is known to
// have ended when the task runs again, and what has been queued by then is sealed
// together. If it returns true, whatever is queued is ciphertext, and nothing is in
// flight, or nothing is to be sealed.
func (c *Conn) seal() bool {
	l := c.extras.layer
	if !l.ready || l.lent != nil || c.is(finished|broken) {
		return true
	}
	memory, _ := c.pending()
	bye := c.is(mute|closing) && !l.said && memory == 0 && c.out.Files() == 0
	if len(c.out.Queued) == 0 && len(l.out) == 0 && !bye {
		return true
	}
	c.mu.Lock()
	flying := c.inbox.right.Want()
	c.mu.Unlock()
	if flying {
		return false
	}
	l.encrypt(c, bye)
	return true
}

// encrypt makes ciphertext of what is queued, and of a close-notify.
func (l *layer) encrypt(c *Conn, bye bool) {
	plain := c.out.Queued
	c.out.Queued = nil
	if len(plain) > 0 {
		_, err := l.tls.Write(plain)
		if err != nil && !c.is(closing) { // else an alert has ended it
			c.failWrite(c.opError("write", err))
		}
	}
	c.driver.buffers.Put(plain)
	if bye {
		l.said = true
		_ = l.tls.CloseWrite()
	}
	c.out.Queued, l.out = l.out, nil
}

// sealed is how much is ciphertext that is not queued.
func (c *Conn) sealed() int {
	if c.extras == nil || c.extras.layer == nil {
		return 0
	}
	return len(c.extras.layer.out)
}

// sealedIn reports whether what comes in is decrypted by the task.
func (c *Conn) sealedIn() bool {
	return c.is(layered) && c.extras.layer.ready && c.extras.layer.lent == nil
}

// lentTLS reports whether what is to be sent is not encrypted by the task.
func (c *Conn) lentTLS() bool { return c.is(layered) && c.extras.layer.lent != nil }

// eof is what reading returns after the peer's end.
func (c *Conn) eof() error {
	if c.sealedIn() && !c.extras.layer.ended {
		return errTruncated
	}
	return io.EOF
}

// tellEOF tells the handler of the peer's end, if it is one.
func (c *Conn) tellEOF() error {
	if err := c.eof(); err != io.EOF {
		return c.opError("read", err)
	}
	return c.handler.OnEOF(c)
}

// hands are what the goroutine that shakes them shares with the task.
type hands struct {
	mu      sync.Mutex
	arrived sync.Cond
	in      []byte
	over    error // why nothing more comes
	full    bool  // reading is paused
	cancel  func()
	stopped bool
}
