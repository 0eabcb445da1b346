package attempts

import (
	"net"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/eyeballs"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// An attempt is a socket on its way to one address.
type attempt struct {
	end  engine.Endpoint // of the reactors' tokens
	race *Race
	addr net.Addr
	at   *engine.Driver   // where its Connect went
	part eyeballs.Attempt // live until it has ended or was given up
	told func(error)      // nil: nobody

	ended bool // guarded by the race's mu, as is errno
	errno syscall.Errno
}

// Deliver notes the end of the attempt.
func (a *attempt) Deliver(d *engine.Driver, e *reactor.Completion) {
	r := a.race
	r.mu.Lock()
	a.ended, a.errno = true, e.Errno()
	r.mu.Unlock()
	d.Cx.Wake(r.owner.Runner().Waker())
}

// begin starts connecting to one address.
func (r *Race) begin(d *engine.Driver, addr net.Addr, now, end time.Duration) (err error) {
	var told func(error)
	if f := r.cfg.Attempt; f != nil {
		r.owner.Call(func() { told = f(addr) })
	}
	defer func() {
		if err != nil {
			r.tell(told, true, err)
		}
	}()
	fd, err := sock.ToDial(addr, r.cfg.Local, r.cfg.Control)
	if err != nil {
		return err
	}
	a := &attempt{race: r, addr: addr, at: d, told: told}
	a.end.FD, a.end.Target = fd, a
	r.group.Table.Add(&a.end)
	err = d.Submit(d, reactor.Op{Kind: reactor.Connect, FD: fd, Token: a.end.Token, Addr: addr})
	if err != nil {
		r.group.Table.Remove(&a.end)
		d.CloseFD(d, fd, false)
		return err
	}
	r.running = append(r.running, a)
	r.order.Begun(&a.part, now, end)
	return nil
}
