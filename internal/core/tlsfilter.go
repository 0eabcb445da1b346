package core

import (
	"io"
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/tlsmem"
	"github.com/suiro-go/suiro/sched"
)

// A Filter is the TLS of one connection. It decrypts received bytes at once, into Conn.In, so the
// handler reads from where it always does. Bytes that a handler writes stay plaintext in
// Conn.Out.Queued, and become ciphertext when they become a flight. During the handshake received
// bytes go through the Handshake, and bytes to send are commands (cmdRaw).
//
// A connection without TLS has a nil filter. The methods that the core calls may be called on a nil
// filter.
type Filter struct {
	Session  tlsmem.Session
	Conn     *Conn
	Handler  Handshake
	deferred *deferred      // nil: nothing
	recvErr  error          // a receive ended with it during the handshake
	began    time.Duration  // when the handshake did
	shook    bool           // began is set
	failure  engine.Failure // of a handshake that has ended
	counted  bool           // BeginHandshake has counted it, and EndHandshake has not
}

// A Handshake is the handler of a connection while the handshake is not complete.
type Handshake interface {
	// Cover encrypts the bytes of c, from the handshake on. It is called before anybody can send.
	Cover(c *Conn)
	// Refused is the end of a handshake that has failed.
	Refused(c *Conn, err error)
	// Within is the handler that follows.
	Within() any
}

// Filter returns the connection's filter, or nil. Goroutines other than the task hold the lock.
func (c *Conn) Filter() *Filter {
	if c.Extras == nil {
		return nil
	}
	return c.Extras.Filter
}

// hold keeps a command of another goroutine until the handshake is complete. It reports
// whether it does.
func (f *Filter) hold(cmd *Command) bool {
	if f == nil || f.Session.Complete() || cmd.Kind != CmdSend && cmd.Kind != CmdDo && cmd.Kind != CmdSplice {
		return false
	}
	f.Keep(*cmd)
	return true
}

// A deferred keeps the commands that wait until the handshake is complete.
type deferred struct {
	commands []Command
	bytes    int // of the commands, which count against MaxWrite
}

// Keep holds a command until the handshake is complete.
func (f *Filter) Keep(cmd Command) {
	if f.deferred == nil {
		f.deferred = new(deferred)
	}
	f.deferred.commands = append(f.deferred.commands, cmd)
	f.deferred.bytes += len(cmd.Data)
}

// release takes the deferred commands.
func (f *Filter) release() []Command {
	if f == nil || f.deferred == nil {
		return nil
	}
	all := f.deferred.commands
	f.deferred = nil
	return all
}

// early is how many written bytes wait for the handshake.
func (f *Filter) early() int {
	if f == nil || f.deferred == nil {
		return 0
	}
	return f.deferred.bytes
}

// sealed is how many bytes of ciphertext are not queued.
func (f *Filter) sealed() int {
	if f == nil {
		return 0
	}
	return f.Session.Unsent()
}

// Shaking reports whether the handshake is not complete.
func (f *Filter) Shaking() bool { return f != nil && !f.Session.Complete() }

// underWay reports whether the handshake has begun and is not complete.
func (f *Filter) underWay() bool { return f.Shaking() && f.Session.Begun() }

// Decrypts reports whether the task decrypts received bytes.
func (f *Filter) Decrypts() bool { return f != nil && f.Session.Complete() && f.Session.Lent() == nil }

// Lent reports whether goroutines have the tls.Conn: nobody else may write.
func (f *Filter) Lent() bool { return f != nil && f.Session.Lent() != nil }

// sendsUnchanged reports whether a goroutine may send the bytes it writes to over unchanged.
func (f *Filter) sendsUnchanged(over net.Conn) bool { return f == nil || f.Session.Lent() == over }

// EOF is what reading returns when all that has arrived is read.
func (f *Filter) EOF() error {
	switch {
	case f != nil && f.recvErr != nil:
		return f.recvErr
	case f.Decrypts() && !f.Session.Ended():
		return errTruncated
	}
	return io.EOF
}

// A peer that has finished its part of a handshake may send, and reset the connection, before our
// part is complete. All that it has sent is handled first, also an alert.

// outlives reports whether the connection waits for the end of its handshake, although nothing more
// arrives, because of err. Then offerEnd ends it with err, or the handshake does.
func (f *Filter) outlives(err error) bool {
	if f == nil || f.Conn.Is(Closing|Broken) || !f.Session.Started() {
		return false
	}
	f.Session.End(err)
	f.recvErr = err
	return true
}

// started reports whether a handshake is in progress that no longer waits for its turn.
func (f *Filter) started() bool { return f.Shaking() && f.Session.Started() }

// holds is how much a handshake in progress holds, in bytes, for the memory budget.
func (f *Filter) holds() int {
	if f == nil || f.Conn.Is(Broken) {
		return 0
	}
	return f.Session.Holds()
}

// done is the end of the handshake.
func (f *Filter) done(c *Conn, err error) {
	switch {
	case c.Is(Closing | Broken):
		return
	case err != nil:
		f.Handler.Refused(c, err)
		return
	}
	f.EndHandshake(nil)
	f.Session.Ready(c.In.Unread, c.Out.Queued) // unread bytes arrived while reading was paused
	c.Out.Queued = nil
	f.emptied(c)
	_ = c.ResumeRead() // if it had too much to read
	c.Extras.Clock.Set(deadlines.Read, 0)
	c.Install(f.Handler.Within())
	drain := c.Is(Drained) && !c.Group.Draining(c.Is(Outbound)) // by Handle.Drain
	c.clear(Drained)
	c.Reading.Clear(EndSeen) // by the handshake's handler alone
	c.Check(c.Group.Events.OnOpen(c))
	commands := f.release()
	for i := range commands {
		c.exec(&commands[i])
	}
	f.DecryptPending(c)
	// OnDrain of the handler within was not called; a group that drains calls it itself
	if drain {
		_ = c.Tell(Command{Kind: cmdDrain})
	}
}

// emptied is for ciphertext that was unread and that tls has now.
func (f *Filter) emptied(c *Conn) {
	c.In.Unread = nil
	c.detach()
	c.Reading.Clear(Unoffered)
}

// DecryptPending decrypts the bytes that arrived before the task had the tls.Conn.
func (f *Filter) DecryptPending(c *Conn) {
	if f.Decrypts() && !c.Is(Closing|Broken) && !c.Reading.Is(ReadClosed) {
		f.decrypt(c)
	}
}

// TakeBack lets the task decrypt and encrypt again. Bytes that are unread or queued are
// ciphertext.
func (f *Filter) TakeBack(c *Conn) {
	if !f.Lent() {
		return
	}
	f.Session.TakeBack(c.In.Unread, c.Out.Queued)
	c.Out.Queued = nil
	f.emptied(c)
}

// decipher decrypts received bytes. It keeps none of p.
func (f *Filter) decipher(c *Conn, p []byte) {
	f.Session.Supply(p)
	f.decrypt(c)
	f.Session.Supply(nil)
}

// offer gives the handler the plaintext of decrypt.
func (f *Filter) offer(c *Conn) {
	if c.Reading.Is(Unoffered) && !c.Is(Closing|Broken) && !c.Reading.Is(waiting) && !c.spent() {
		c.Offer()
	}
}

// decrypt decrypts all supplied bytes, behind unread ones, and sets Unoffered if there were any.
func (f *Filter) decrypt(c *Conn) {
	for {
		n, err := f.Session.Read(c.In.Space(&c.Driver.Buffers, min(max(f.Session.Supplied(), bufs.Few/8), 16<<10)))
		if n > 0 {
			c.In.Extend(n)
			c.Reading.Set(Unoffered)
		}
		switch {
		case err == nil:
			continue
		case err == tlsmem.ErrDry:
			return
		case err == io.EOF:
			c.Reading.Set(Ended)
			return
		}
		if c.Reading.Is(Unoffered) && !c.Reading.Is(waiting) {
			c.Offer() // bytes that arrived before the error are not lost with it
		}
		if !f.Lent() { // else the goroutine that has it now reads the same
			c.Conclude(c.OpError("read", err))
		}
		return
	}
}

// seal is sealQueued for a connection that encrypts.
func (f *Filter) seal(c *Conn) bool { return !f.Decrypts() || f.sealQueued(c) }

// sealQueued encrypts the queued bytes, unless a send is in flight. In that case the task runs
// when the send ends, and seals all bytes that are queued by then. If sealQueued returns true,
// all queued bytes are ciphertext and nothing is in flight, or nothing is to be sealed.
func (f *Filter) sealQueued(c *Conn) bool {
	if c.Is(Finished | Broken) {
		return true
	}
	memory, _ := c.Pending()
	bye := c.Is(WriteClosed|Closing) && !c.ResetsAtEnd() && !f.Session.Said() && memory+c.toWrite == 0 && c.Out.Files() == 0
	if len(c.Out.Queued) == 0 && f.Session.Unsent() == 0 && !bye {
		return true
	}
	flying, bye := c.wantsToSeal(bye)
	if flying {
		return false
	}
	f.Encrypt(c, bye)
	return true
}

// Encrypt makes ciphertext of the queued bytes, and of a close-notify.
func (f *Filter) Encrypt(c *Conn, bye bool) {
	plain := c.Out.Queued
	c.Out.Queued = nil
	sealed, err := f.Session.Encrypt(plain, bye)
	if err != nil && !c.Is(Closing) { // else an alert has ended it
		c.FailWrite(c.OpError("write", err))
	}
	c.Driver.Buffers.Put(plain)
	c.Out.Queued = sealed
}

// A TLSOwner is a filter as its Session calls it.
type TLSOwner Filter

var _ tlsmem.Owner = (*TLSOwner)(nil)

// Send implements tlsmem.Owner.
func (o *TLSOwner) Send(p []byte) error { return o.Conn.Tell(Command{Kind: cmdRaw, Data: p}) }

// ReadOn implements tlsmem.Owner.
func (o *TLSOwner) ReadOn() {
	_ = o.Conn.Tell(Command{Kind: CmdInner, What: func(c *Conn) {
		if c.Filter().Shaking() {
			_ = c.ResumeRead()
		}
	}})
}

// Panicked implements tlsmem.Owner.
func (o *TLSOwner) Panicked(p *sched.PanicError) {
	o.Conn.Group.Config.Logger.Error("conn: TLS handshake panicked", "remote", o.Conn.Remote(), "panic", p.Value, "stack", string(p.Stack))
}

// Done implements tlsmem.Owner.
func (o *TLSOwner) Done(err error) {
	_ = o.Conn.Tell(Command{Kind: CmdInner, What: func(c *Conn) { (*Filter)(o).done(c, err) }})
}

// Grow implements tlsmem.Owner.
func (o *TLSOwner) Grow(p []byte, n int) []byte { return o.Conn.Driver.Buffers.Grow(p, n) }

// RemoteAddr implements tlsmem.Owner.
func (o *TLSOwner) RemoteAddr() net.Addr { return o.Conn.Remote() }

// WithFD implements tlsmem.Owner.
func (o *TLSOwner) WithFD(f func(fd uintptr) bool) error { return LendFD(o.Conn, f) }
