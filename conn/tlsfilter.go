package conn

import (
	"io"
	"net"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/tlsmem"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A filter is the TLS of one connection. It decrypts received bytes at once, into Conn.in, so the
// handler reads from where it always does. Bytes that a handler writes stay plaintext in
// Conn.out.Queued, and become ciphertext when they become a flight. During the handshake received
// bytes go through handshakeHandler, and bytes to send are commands (cmdRaw).
//
// A connection without TLS has a nil filter. The methods that the core calls may be called on a nil
// filter.
type filter struct {
	tls     tlsmem.Session
	conn    *Conn
	handler *handshakeHandler
	held    []command // until the handshake is complete
	bytes   int       // of held, which count against MaxWrite
}

// filter returns the connection's filter, or nil. Goroutines other than the task hold the lock.
func (c *Conn) filter() *filter {
	if c.extras == nil {
		return nil
	}
	return c.extras.filter
}

// hold keeps a command of another goroutine until the handshake is complete. It reports
// whether it does.
func (f *filter) hold(cmd *command) bool {
	if f == nil || f.tls.Complete() || cmd.kind != cmdSend && cmd.kind != cmdDo && cmd.kind != cmdSplice {
		return false
	}
	f.keep(*cmd)
	return true
}

// keep holds a command until the handshake is complete.
func (f *filter) keep(cmd command) {
	f.held = append(f.held, cmd)
	f.bytes += len(cmd.data)
}

// release takes the held commands.
func (f *filter) release() (held []command) {
	if f != nil {
		held, f.held, f.bytes = f.held, nil, 0
	}
	return held
}

// early is how many written bytes wait for the handshake.
func (f *filter) early() int {
	if f == nil {
		return 0
	}
	return f.bytes
}

// sealed is how many bytes of ciphertext are not queued.
func (f *filter) sealed() int {
	if f == nil {
		return 0
	}
	return f.tls.Unsent()
}

// shaking reports whether the handshake is not complete.
func (f *filter) shaking() bool { return f != nil && !f.tls.Complete() }

// underWay reports whether the handshake has begun and is not complete.
func (f *filter) underWay() bool { return f.shaking() && f.tls.Begun() }

// decrypts reports whether the task decrypts what arrives.
func (f *filter) decrypts() bool { return f != nil && f.tls.Complete() && f.tls.Lent() == nil }

// lent reports whether goroutines have the tls.Conn: nobody else may write.
func (f *filter) lent() bool { return f != nil && f.tls.Lent() != nil }

// passes reports whether a goroutine may send the bytes it writes to s unchanged.
func (f *filter) passes(s *Socket) bool { return f == nil || f.tls.Lent() == net.Conn(s) }

// eof is what reading returns after the peer's FIN.
func (f *filter) eof() error {
	if f.decrypts() && !f.tls.Ended() {
		return errTruncated
	}
	return io.EOF
}

// tellEOF tells the handler of the peer's end, if it is one.
func (c *Conn) tellEOF() error {
	if err := c.filter().eof(); err != io.EOF {
		return c.opError("read", err)
	}
	return c.handler.OnEOF(c)
}

// outlives reports whether the handshake tells how the connection ended. err is why nothing
// more arrives.
func (f *filter) outlives(err error) bool {
	return f != nil && !f.conn.is(closing|broken) && f.tls.Outlives(err)
}

// holds is how much a handshake in progress holds, in bytes, for the ledger.
func (f *filter) holds() int {
	if f == nil || f.conn.is(broken) {
		return 0
	}
	return f.tls.Holds()
}

// done is the end of the handshake.
func (f *filter) done(c *Conn, err error) {
	switch {
	case c.is(closing | broken):
		return
	case err != nil:
		f.handler.refused(c, err)
		return
	}
	f.tls.Ready(c.in.Unread, c.out.Queued) // unread bytes arrived while reading was paused
	c.out.Queued = nil
	f.emptied(c)
	_ = c.ResumeRead() // if it had too much to read
	c.extras.clock.Set(deadlines.Read, 0)
	c.install(f.handler.inner)
	drain := c.is(drained) && !c.group.draining(c.is(outbound)) // by Handle.Drain
	c.clear(drained)
	c.reading.clear(endSeen) // by the handshake's handler alone
	c.check(c.handler.OnOpen(c))
	held := f.release()
	for i := range held {
		c.exec(&held[i])
	}
	f.goOn(c)
	// OnDrain of the handler within was not called; a group that drains calls it itself
	if drain {
		_ = c.tell(command{kind: cmdDrain})
	}
}

// emptied is for ciphertext that was unread and that tls has now.
func (f *filter) emptied(c *Conn) {
	c.in.Unread = nil
	c.detach()
	c.reading.clear(unseen)
}

// goOn decrypts the bytes that arrived before the task had the tls.Conn.
func (f *filter) goOn(c *Conn) {
	if f.decrypts() && !c.is(closing|broken) && !c.reading.is(deaf) {
		f.decrypt(c)
	}
}

// takeBack lets the task decrypt and encrypt again. Bytes that are unread or queued are
// ciphertext.
func (f *filter) takeBack(c *Conn) {
	if f == nil {
		return
	}
	f.tls.TakeBack(c.in.Unread, c.out.Queued)
	c.out.Queued = nil
	f.emptied(c)
}

// receive is Conn.receive for a connection that decrypts.
func (f *filter) receive(c *Conn, b reactor.Buffer) {
	if c.is(closing|broken) || c.reading.is(deaf) || f.tls.Ended() {
		c.drop(len(b.Bytes))
		c.home.R.Release(b)
		return
	}
	f.decipher(c, b.Bytes)
	c.home.R.Release(b)
	f.offer(c)
}

// decipher decrypts received bytes. It keeps none of p.
func (f *filter) decipher(c *Conn, p []byte) {
	f.tls.Supply(p)
	f.decrypt(c)
	f.tls.Supply(nil)
}

// offer gives the handler the plaintext of decrypt.
func (f *filter) offer(c *Conn) {
	if c.reading.is(unseen) && !c.is(closing|broken) && !c.reading.is(waiting) && !c.spent() {
		c.offer()
	}
}

// decrypt decrypts all supplied bytes, behind unread ones, and sets unseen if there were any.
func (f *filter) decrypt(c *Conn) {
	for {
		n, err := f.tls.Read(c.in.Space(&c.driver.buffers, min(max(f.tls.Supplied(), bufs.Few/8), 16<<10)))
		if n > 0 {
			c.in.Extend(n)
			c.reading.set(unseen)
		}
		switch {
		case err == nil:
			continue
		case err == tlsmem.ErrDry:
			return
		case err == io.EOF:
			c.reading.set(ended)
			return
		}
		if c.reading.is(unseen) && !c.reading.is(waiting) {
			c.offer() // bytes that arrived before the error are not lost with it
		}
		if !f.lent() { // else the goroutine that has it now reads the same
			c.conclude(c.opError("read", err))
		}
		return
	}
}

// seal is sealQueued for a connection that encrypts.
func (f *filter) seal(c *Conn) bool { return !f.decrypts() || f.sealQueued(c) }

// sealQueued encrypts the queued bytes, unless a send is in flight. In that case the task runs
// when the send ends, and seals all bytes that are queued by then. If sealQueued returns true,
// all queued bytes are ciphertext and nothing is in flight, or nothing is to be sealed.
func (f *filter) sealQueued(c *Conn) bool {
	if c.is(finished | broken) {
		return true
	}
	memory, _ := c.pending()
	bye := c.is(mute|closing) && !f.tls.Said() && memory == 0 && c.out.Files() == 0
	if len(c.out.Queued) == 0 && f.tls.Unsent() == 0 && !bye {
		return true
	}
	c.mu.Lock()
	flying := c.inbox.right.Want()
	c.mu.Unlock()
	if flying {
		return false
	}
	f.encrypt(c, bye)
	return true
}

// encrypt makes ciphertext of the queued bytes, and of a close-notify.
func (f *filter) encrypt(c *Conn, bye bool) {
	plain := c.out.Queued
	c.out.Queued = nil
	sealed, err := f.tls.Encrypt(plain, bye)
	if err != nil && !c.is(closing) { // else an alert has ended it
		c.failWrite(c.opError("write", err))
	}
	c.driver.buffers.Put(plain)
	c.out.Queued = sealed
}

// A tlsOwner is a filter as its Session calls it.
type tlsOwner filter

var _ tlsmem.Owner = (*tlsOwner)(nil)

// Send implements tlsmem.Owner.
func (o *tlsOwner) Send(p []byte) error { return o.conn.tell(command{kind: cmdRaw, data: p}) }

// ReadOn implements tlsmem.Owner.
func (o *tlsOwner) ReadOn() {
	_ = o.conn.tell(command{kind: cmdInner, do: func(c *Conn) {
		if c.filter().shaking() {
			_ = c.ResumeRead()
		}
	}})
}

// Panicked implements tlsmem.Owner.
func (o *tlsOwner) Panicked(p *sched.PanicError) {
	o.conn.group.cfg.Logger.Error("conn: TLS handshake panicked", "remote", o.conn.remote(), "panic", p.Value, "stack", string(p.Stack))
}

// Done implements tlsmem.Owner.
func (o *tlsOwner) Done(err error) {
	_ = o.conn.tell(command{kind: cmdInner, do: func(c *Conn) { (*filter)(o).done(c, err) }})
}

// Grow implements tlsmem.Owner.
func (o *tlsOwner) Grow(p []byte, n int) []byte { return o.conn.driver.buffers.Grow(p, n) }

// RemoteAddr implements tlsmem.Owner.
func (o *tlsOwner) RemoteAddr() net.Addr { return o.conn.remote() }

// WithFD implements tlsmem.Owner.
func (o *tlsOwner) WithFD(f func(fd uintptr) bool) error { return o.conn.lendFD(f) }
