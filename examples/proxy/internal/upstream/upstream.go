// Package upstream chooses among those that a route's connections go to, and remembers how
// they are.
package upstream

import (
	"sync/atomic"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// An Upstream is one address of one route. It counts the route's connections alone, and shares its
// health with other routes that have the address. Its methods may be called from any goroutine.
// The zero value is an upstream whose health is its own.
type Upstream struct {
	Address config.Address

	active   atomic.Int64 // connections, those being established included
	opened   atomic.Uint64
	failures atomic.Uint64 // connections that could not be established, and questions that were not answered

	shared atomic.Pointer[health] // nil: own
	own    health
}

// A State is how an upstream is at a moment.
type State struct {
	Address  string
	Healthy  bool
	Why      string // it is not
	Active   int64
	Opened   uint64
	Failures uint64
}

// Host is its name in a request that has none of its own.
func (u *Upstream) Host() string {
	if u.Address.Scheme == "unix" {
		return "localhost"
	}
	return u.Address.Host
}

// State is how it is.
func (u *Upstream) State() State {
	s := State{Address: u.Address.String(), Active: u.active.Load(), Opened: u.opened.Load(), Failures: u.failures.Load()}
	s.Healthy, s.Why = u.health().state()
	return s
}

func (u *Upstream) health() *health {
	if h := u.shared.Load(); h != nil {
		return h
	}
	return &u.own
}

// begin counts a connection that is to be established, unless there are most of them; 0:
// no bound. Many may ask at once, so the bound is looked at and the place taken by one
// compare-and-swap.
func (u *Upstream) begin(most int) bool {
	for {
		n := u.active.Load()
		if most > 0 && n >= int64(most) {
			return false
		}
		if u.active.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// End is the end of what Pick has begun.
func (u *Upstream) End() { u.active.Add(-1) }

// Opened notes that a connection was established, which heals one that nobody asks.
func (u *Upstream) Opened() {
	u.opened.Add(1)
	u.Succeeded()
}

// OpenedUnheard notes a new connection from which no byte has arrived: perhaps no server is there.
func (u *Upstream) OpenedUnheard() { u.opened.Add(1) }

// Succeeded notes that it has answered.
func (u *Upstream) Succeeded() { u.health().succeeded() }

// Failed notes that one could not be, unless the reason lies in this process or machine: then
// nothing is known of the upstream, and others would fail in the same way.
func (u *Upstream) Failed(err error) {
	if local(err) {
		return
	}
	u.failures.Add(1)
	u.health().failed(err)
}

// answered notes the result of a health check. It reports whether that changed the health.
func (u *Upstream) answered(err error) (turned bool) {
	h := u.health()
	was := h.isDown()
	switch {
	case err == nil:
		h.checked(nil)
	case !local(err):
		u.failures.Add(1)
		h.checked(err)
	}
	return was != h.isDown()
}

func orInt(v, zero int) int {
	if v == 0 {
		return zero
	}
	return v
}
