package gateway

import (
	"sync/atomic"

	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// A place is one of those that max_connections bounds. The connection has it, and the
// goroutine of its requests: only when both have ended is it free. A client that is gone
// therefore makes no room for another before its exchange has ended too.
type place struct {
	route   *route.Route
	holders atomic.Int32

	requests int // that there have been; the goroutine's while there is one
}

func (p *place) take() { p.holders.Add(1) }

func (p *place) leave() {
	if p.holders.Add(-1) == 0 {
		p.route.Leave()
	}
}

// move counts the connection for another route. It is for the goroutine that has the place.
func (p *place) move(to *route.Route) {
	if to.Counts != p.route.Counts {
		to.Active.Add(1)
		p.route.Leave()
	}
	p.route = to
}
