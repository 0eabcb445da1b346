package conn

import (
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/eyeballs"
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
	cancel  func()     // what Find returned; nil: it was called, or there is nothing to cancel
	running []*attempt // those whose Connect is in flight, also of those that were given up
	order   *eyeballs.Race
	won     bool
}

// An attempt is a socket on its way to one address.
type attempt struct {
	end  engine.Endpoint // of the reactors' tokens
	conn *Conn
	addr net.Addr
	at   *engine.Driver   // where its Connect went
	part eyeballs.Attempt // live until it has ended or was given up
	told func(error)      // nil: nobody

	ended bool // guarded by the connection's mu, as what follows
	errno syscall.Errno
}

func newRace(cfg *DialConfig) *race {
	finding := cfg.Find != nil
	r := &race{cfg: *cfg, asked: !finding, order: eyeballs.New(cfg.Addrs, cfg.Delay, finding, cfg.LocalAddr)}
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
		wanted := r.order.Over(&a.part)
		c.group.core.Table.Remove(&a.end)
		switch {
		case a.errno == 0 && !r.won && !c.is(broken):
			c.won(a)
			c.attemptEnded(a.told, wanted, nil)
			continue
		case a.errno == 0:
			c.attemptEnded(a.told, wanted, errGivenUp)
		default:
			err := sock.Error("connect", a.errno)
			c.attemptEnded(a.told, wanted, err)
			if wanted {
				r.order.Failed(a.addr, err, c.group.rt.Now())
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
	c.extras.clock.Set(deadlines.Attempt, 0)
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
	if r.order.Over(&a.part) {
		c.attemptEnded(a.told, true, err)
		c.driver.Cancel(a.at, &a.end, reactor.Connect)
	}
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
		if a.part.Overdue(now) {
			r.stop(c, a, os.ErrDeadlineExceeded)
			r.order.Failed(a.addr, os.ErrDeadlineExceeded, c.group.rt.Now())
		}
	}
	for addr, due := r.order.Next(now); due; addr, due = r.order.Next(now) {
		if err := r.begin(c, addr, now); err != nil {
			r.order.Failed(addr, err, c.group.rt.Now())
		}
	}
	if r.order.Lost() {
		c.fail(r.order.Err(c.extras.target, errNoAddrs))
	}
	c.extras.clock.Set(deadlines.Attempt, r.order.Wake())
}

// candidates is the answer of Find.
func (c *Conn) candidates(addrs []net.Addr, err error) {
	r := c.extras.race
	if r == nil || r.won || !r.order.Found(addrs) {
		return // it is not needed: one of Addrs has won; or it has answered twice
	}
	r.settled()
	if err != nil {
		if op, ok := err.(*net.OpError); !ok || op.Op != "dial" {
			err = &net.OpError{Op: "dial", Net: c.extras.target.Network(), Source: r.cfg.LocalAddr, Err: err}
		}
		c.fail(err)
	}
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
func (c *Conn) attemptEnded(tell func(error), first bool, err error) {
	if tell != nil && first {
		c.call(func() { tell(err) })
	}
}

// begin starts connecting to one address.
func (r *race) begin(c *Conn, addr net.Addr, now time.Duration) (err error) {
	told := c.attemptBegins(addr)
	defer func() {
		if err != nil {
			c.attemptEnded(told, true, err)
		}
	}()
	fd, err := sock.ToDial(addr, r.cfg.LocalAddr, r.cfg.Control)
	if err != nil {
		return err
	}
	a := &attempt{conn: c, addr: addr, at: c.driver.Engine(), told: told}
	a.end.FD, a.end.Target = fd, a
	c.group.core.Table.Add(&a.end)
	err = c.driver.Submit(a.at, reactor.Op{Kind: reactor.Connect, FD: fd, Token: a.end.Token, Addr: addr})
	if err != nil {
		c.group.core.Table.Remove(&a.end)
		c.driver.CloseFD(a.at, fd, false)
		return err
	}
	r.running = append(r.running, a)
	r.order.Begun(&a.part, now, c.extras.clock.At(deadlines.Connect))
	return nil
}
