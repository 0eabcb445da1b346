package engine

import "github.com/suiro-go/suiro/reactor"

// Expel ends an operation for a worker that does not poll. One that polls does so itself.
// What e says must not change meanwhile.
func (g *Group) Expel(e *Endpoint, kind reactor.Kind) {
	for i := range g.Drivers {
		d := g.Drivers[i].Load()
		if d == nil {
			continue
		}
		_ = d.R.Submit(&reactor.Op{Kind: reactor.Cancel, Target: kind, Token: e.Token, FD: e.FD})
		if d.taker.TryLock() {
			_, _ = d.R.Rescue(nil)
			d.taker.Unlock()
		}
	}
}
