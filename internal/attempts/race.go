package attempts

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/eyeballs"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrNoAddrs is the end of a race without an address.
	ErrNoAddrs = errors.New("no address to connect to; set Addrs or Find")

	// errGivenUp is the end of an attempt that is not needed any more.
	errGivenUp = fmt.Errorf("conn: the attempt to connect was given up: %w", net.ErrClosed)
)

// A Config has the addresses and functions of a race; conn.DialConfig says more.
type Config struct {
	Addrs         []net.Addr
	Target, Local net.Addr
	Delay         time.Duration
	Find          func(found func([]net.Addr, error)) (cancel func())
	Control       sock.Control
	Attempt       func(addr net.Addr) (ended func(error))
}

// An Owner wants a connection. The methods are called by those of its Race, on the owner's task.
type Owner interface {
	Wants() bool                                        // whether a winner is still wanted
	Connected(fd int, at *engine.Driver, addr net.Addr) // fd is the owner's now; its Connect went to at
	Lost(err error)                                     // no attempt has connected, or will
	Call(user func())                                   // calls it and recovers its panic
	// any goroutine: calls f on the task later, unless the owner has ended
	Tell(f func())
	// any goroutine: it runs again when an attempt has ended
	Runner() *sched.Task
}

// A Race is run by its owner's task, so only the ends of attempts need a lock. After each wake-up
// the owner calls Reap and then, as long as it wants a winner, StartDue. It calls StartDue again at
// the time that Wake returns. Once there is a winner, or none is wanted, the owner calls Stop until
// that reports true: until then completions may arrive.
type Race struct {
	cfg       Config
	owner     Owner
	group     *engine.Group
	asked     bool       // Find was called
	cancel    func()     // what Find returned; nil: it was called, or there is nothing to cancel
	running   []*attempt // those whose Connect is in flight, also of those that were given up
	order     *eyeballs.Race
	connected bool

	mu sync.Mutex // guards ended and errno of attempts
}

// New makes a race, which begins with the first StartDue.
func New(g *engine.Group, owner Owner, cfg Config) *Race {
	finding := cfg.Find != nil
	order := eyeballs.New(cfg.Addrs, cfg.Delay, finding, cfg.Local)
	return &Race{cfg: cfg, owner: owner, group: g, asked: !finding, order: order}
}

// Reap deals with the attempts that have ended, on the worker of d. It reports whether one has
// connected.
func (r *Race) Reap(d *engine.Driver) (connected bool) {
	for _, a := range r.takeEnded() {
		if a.errno == 0 && !sock.HasPort(r.cfg.Local) && sock.ToItself(a.end.FD, a.addr) {
			a.errno = syscall.ECONNREFUSED
		}
		wanted := r.order.Over(&a.part)
		r.group.Table.Remove(&a.end)
		switch {
		case a.errno == 0 && !r.connected && r.owner.Wants():
			r.connected = true
			r.owner.Connected(a.end.FD, a.at, a.addr)
			r.tell(a.told, wanted, nil)
			continue
		case a.errno == 0:
			r.tell(a.told, wanted, errGivenUp)
		default:
			err := sock.Error("connect", a.errno)
			r.tell(a.told, wanted, err)
			if wanted {
				r.order.Failed(a.addr, err, r.group.RT.Now())
			}
		}
		d.CloseFD(a.at, a.end.FD, false)
	}
	return r.connected
}

// takeEnded removes the attempts that have ended from those that run.
func (r *Race) takeEnded() (ended []*attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = slices.DeleteFunc(r.running, func(a *attempt) bool {
		if a.ended {
			ended = append(ended, a)
		}
		return a.ended
	})
	return ended
}

// StartDue begins the attempts that are due, on the worker of d. end is when the whole race ends;
// 0: never. Find and Control are the user's, and may panic.
func (r *Race) StartDue(d *engine.Driver, end time.Duration) {
	if !r.asked {
		r.asked = true
		r.cancel = r.cfg.Find(func(addrs []net.Addr, err error) {
			r.owner.Tell(func() { r.found(addrs, err) })
		})
	}
	now := r.group.RT.Now()
	for _, a := range r.running {
		if a.part.Overdue(now) {
			r.giveUp(d, a, os.ErrDeadlineExceeded)
			r.order.Failed(a.addr, os.ErrDeadlineExceeded, r.group.RT.Now())
		}
	}
	for addr, due := r.order.Next(now); due; addr, due = r.order.Next(now) {
		if err := r.begin(d, addr, now, end); err != nil {
			r.order.Failed(addr, err, r.group.RT.Now())
		}
	}
	if r.order.Lost() {
		r.owner.Lost(r.order.Err(r.cfg.Target, ErrNoAddrs))
	}
}

// Wake is when StartDue has to be called if nothing happens before; 0: never.
func (r *Race) Wake() time.Duration { return r.order.Wake() }

// Stop cancels the attempts, and reports whether all of them have ended.
func (r *Race) Stop(d *engine.Driver) (over bool) {
	r.settled()
	for _, a := range r.running {
		r.giveUp(d, a, errGivenUp)
	}
	return len(r.running) == 0
}

// Abandon closes the sockets of all attempts. No worker runs any more.
func (r *Race) Abandon() {
	for _, a := range r.running {
		sock.Close(a.end.FD)
	}
	r.running = nil
}

// found is the answer of Find.
func (r *Race) found(addrs []net.Addr, err error) {
	if r.connected || !r.order.Found(addrs) {
		return // it is not needed: one of Addrs has connected; or it has answered twice
	}
	r.settled()
	if err != nil {
		if op, ok := err.(*net.OpError); !ok || op.Op != "dial" {
			err = &net.OpError{Op: "dial", Net: r.cfg.Target.Network(), Source: r.cfg.Local, Err: err}
		}
		r.owner.Lost(err)
	}
}

// settled is for a Find whose answer has come or is not wanted.
func (r *Race) settled() {
	if cancel := r.cancel; cancel != nil {
		r.cancel = nil
		cancel()
	}
}

// tell calls what Config.Attempt returned, once.
func (r *Race) tell(told func(error), first bool, err error) {
	if told != nil && first {
		r.owner.Call(func() { told(err) })
	}
}

// giveUp cancels an attempt, which ends with err.
func (r *Race) giveUp(d *engine.Driver, a *attempt, err error) {
	if r.order.Over(&a.part) {
		r.tell(a.told, true, err)
		d.Cancel(a.at, &a.end, reactor.Connect)
	}
}
