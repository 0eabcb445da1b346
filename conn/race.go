package conn

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// A race connects to whichever of several addresses answers first (RFC 8305, Happy
// Eyeballs version 2, section 5). It is run by the task of the connection that is to be,
// so that nothing of it needs a lock but the ends of attempts, which wait in inboxes of
// their own; and the handler knows of one connection only, the one that its handle has
// meant from the beginning: that takes over the winner's descriptor.
//
// The other attempts are cancelled. Until the last has ended, the race stays with the
// connection, which is not over before.
type race struct {
	cfg     DialConfig
	asked   bool       // Find was called
	found   bool       // and has answered, or there was none
	cancel  func()     // what Find returned; nil: it was called, or there is nothing to cancel
	left    []net.Addr // not tried yet
	running []*attempt // those whose Connect is in flight
	live    int        // of them, those that are not being cancelled
	failed  []error
	next    time.Duration // when another attempt is to begin; 0: when no other is live
	won     bool
}

// An attempt is a socket on its way to one address.
type attempt struct {
	end       engine.Endpoint // of the reactors' tokens
	conn      *Conn
	addr      net.Addr
	at        *engine.Driver // where its Connect went
	until     time.Duration  // 0: as long as the race goes on
	cancelled bool
	told      func(error) // nil: nobody

	ended bool // guarded by the connection's mu, as what follows
	errno syscall.Errno
}

func newRace(cfg *DialConfig) *race {
	r := &race{cfg: *cfg, left: slices.Clone(cfg.Addrs)}
	r.asked, r.found = cfg.Find == nil, cfg.Find == nil
	r.cfg.Preface, r.cfg.Near = nil, nil
	return r
}

// Deliver notes the end of the attempt.
func (a *attempt) Deliver(d *engine.Driver, e *reactor.Completion) {
	c := a.conn
	c.mu.Lock()
	a.ended, a.errno = true, e.Errno()
	c.mu.Unlock()
	d.Cx.Wake(c.task.Waker())
}

// judge deals with the attempts that have ended.
func (c *Conn) judge() {
	r := c.extras.race
	var ended []*attempt
	c.mu.Lock()
	r.running = slices.DeleteFunc(r.running, func(a *attempt) bool {
		if a.ended {
			ended = append(ended, a)
		}
		return a.ended
	})
	c.mu.Unlock()
	for _, a := range ended {
		if !a.cancelled {
			r.live--
		}
		c.group.core.Table.Remove(&a.end)
		switch {
		case a.errno == 0 && !r.won && !c.is(broken):
			c.won(a)
			c.attemptEnded(a.told, a.cancelled, nil)
			continue
		case a.errno == 0:
			c.attemptEnded(a.told, a.cancelled, errGivenUp)
		default:
			err := sock.Error("connect", a.errno)
			c.attemptEnded(a.told, a.cancelled, err)
			if !a.cancelled {
				r.fail(c, a.addr, err)
			}
		}
		c.driver.CloseFD(a.at, a.end.FD, false)
	}
	if r.won {
		c.endRace()
	}
}

// won makes the attempt's descriptor that of the connection.
func (c *Conn) won(a *attempt) {
	c.extras.race.won = true
	c.end.FD, c.home, c.outgoing = a.end.FD, a.at, a.at
	c.mu.Lock()
	c.towards(a.addr) // remote reads it
	c.extras.target = nil
	c.mu.Unlock()
	c.connected()
}

// endRace cancels what is under way, and reports whether nothing is any more.
func (c *Conn) endRace() (over bool) {
	r := c.extras.race
	if r == nil {
		return true
	}
	c.extras.clock.attempt = 0
	r.settled()
	for _, a := range r.running {
		r.stop(c, a, errGivenUp)
	}
	if len(r.running) > 0 {
		return false
	}
	c.extras.race = nil
	return true
}

// settled is for a Find whose answer has come or is not wanted.
func (r *race) settled() {
	if cancel := r.cancel; cancel != nil {
		r.cancel = nil
		cancel()
	}
}

// stop cancels an attempt, which ends with err.
func (r *race) stop(c *Conn, a *attempt, err error) {
	if !a.cancelled {
		c.attemptEnded(a.told, false, err)
		a.cancelled = true
		r.live--
		c.driver.Cancel(a.at, &a.end, reactor.Connect)
	}
}

// fail notes why an attempt has failed; the next one begins at once.
func (r *race) fail(c *Conn, addr net.Addr, err error) {
	r.failed = append(r.failed, &net.OpError{Op: "dial", Net: addr.Network(), Source: r.cfg.LocalAddr, Addr: addr, Err: err})
	r.next = c.group.rt.Now()
}

// goOnRacing begins the attempts that are due, after a run of a connection that is not
// established. Find and Control are the user's, and may panic.
func (c *Conn) goOnRacing() {
	defer c.recoverPanic()
	r := c.extras.race
	if !r.asked {
		r.asked = true
		r.cancel = r.cfg.Find(func(addrs []net.Addr, err error) {
			_ = c.tell(command{kind: cmdInner, do: func(c *Conn) { c.candidates(addrs, err) }}) // it may have ended
		})
	}
	now := c.group.rt.Now()
	for _, a := range r.running {
		if a.until != 0 && now >= a.until && !a.cancelled {
			r.stop(c, a, os.ErrDeadlineExceeded)
			r.fail(c, a.addr, os.ErrDeadlineExceeded)
		}
	}
	for len(r.left) > 0 && (r.live == 0 || !r.cfg.serial() && now >= r.next) {
		addr := r.left[0]
		r.left = r.left[1:]
		if err := r.begin(c, addr, now); err != nil {
			r.fail(c, addr, err)
		} else {
			r.next = saturate.Add(now, r.cfg.delay())
		}
	}
	if r.found && r.live == 0 {
		c.fail(r.err(c.extras.target))
	}
	c.extras.clock.attempt = r.wake()
}

// candidates is the answer of Find.
func (c *Conn) candidates(addrs []net.Addr, err error) {
	r := c.extras.race
	if r == nil || r.found || r.won {
		return // it has answered twice, or is not needed: one of Addrs has won
	}
	r.found = true
	r.settled()
	if err != nil {
		if op, ok := err.(*net.OpError); !ok || op.Op != "dial" {
			err = &net.OpError{Op: "dial", Net: c.extras.target.Network(), Source: r.cfg.LocalAddr, Err: err}
		}
		c.fail(err)
		return
	}
	r.left = slices.Clone(addrs)
}

// errGivenUp is the end of an attempt that is not needed any more.
var errGivenUp = fmt.Errorf("conn: the attempt to connect was given up: %w", net.ErrClosed)

// attemptBegins calls DialConfig.Attempt.
func (c *Conn) attemptBegins(addr net.Addr) (told func(error)) {
	if f := c.extras.race.cfg.Attempt; f != nil {
		c.call(func() { told = f(addr) })
	}
	return told
}

// attemptEnded says how an attempt has ended, once.
func (c *Conn) attemptEnded(tell func(error), again bool, err error) {
	if tell != nil && !again {
		c.call(func() { tell(err) })
	}
}

// begin starts connecting to one address.
func (r *race) begin(c *Conn, addr net.Addr, now time.Duration) (err error) {
	told := c.attemptBegins(addr)
	defer func() {
		if err != nil {
			c.attemptEnded(told, false, err)
		}
	}()
	fd, err := dialSocket(addr, &r.cfg)
	if err != nil {
		return err
	}
	a := &attempt{conn: c, addr: addr, at: c.driver.Engine(), told: told}
	a.end.FD, a.end.Target = fd, a
	if end := c.extras.clock.connect; end != 0 && r.cfg.serial() {
		a.until = now + share(end-now, len(r.left)+1)
	}
	c.group.core.Table.Add(&a.end)
	err = c.driver.Submit(a.at, reactor.Op{Kind: reactor.Connect, FD: fd, Token: a.end.Token, Addr: addr})
	if err != nil {
		c.group.core.Table.Remove(&a.end)
		c.driver.CloseFD(a.at, fd, false)
		return err
	}
	r.running = append(r.running, a)
	r.live++
	return nil
}

// share is how much of the time that is left one of n attempts has, as package net
// divides it.
func share(left time.Duration, n int) time.Duration {
	return min(left, max(left/time.Duration(n), minAttempt))
}

// wake is when something is to be done; 0: nothing, or at once anyhow.
func (r *race) wake() (at time.Duration) {
	if len(r.left) > 0 && !r.cfg.serial() && r.live > 0 {
		at = r.next
	}
	for _, a := range r.running {
		if a.until != 0 && !a.cancelled && (at == 0 || a.until < at) {
			at = a.until
		}
	}
	return at
}

// err is what a race that nobody has won ends with.
func (r *race) err(target net.Addr) error {
	switch len(r.failed) {
	case 0:
		return &net.OpError{Op: "dial", Net: target.Network(), Source: r.cfg.LocalAddr, Addr: target, Err: errNoAddrs}
	case 1:
		return r.failed[0]
	}
	return &net.OpError{Op: "dial", Net: target.Network(), Source: r.cfg.LocalAddr, Addr: target, Err: allFailed(r.failed)}
}

// allFailed are the errors of all attempts, each a *net.OpError.
type allFailed []error

func (all allFailed) Error() string {
	var b strings.Builder
	for i, err := range all {
		if i > 0 {
			b.WriteString("; ")
		}
		e := err.(*net.OpError)
		b.WriteString(e.Addr.String() + ": " + e.Err.Error())
	}
	return b.String()
}

func (all allFailed) Unwrap() []error { return all }

// Timeout reports whether one has.
func (all allFailed) Timeout() bool {
	return slices.ContainsFunc(all, func(err error) bool { return err.(*net.OpError).Timeout() })
}
