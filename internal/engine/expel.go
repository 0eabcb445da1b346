package engine

import "github.com/suiro-go/suiro/reactor"

// Expel cancels an operation for a worker that does not poll. One that polls does so itself.
// The caller must not change e meanwhile. Nudge then makes it take effect.
func (g *Group) Expel(e *Endpoint, kind reactor.Kind) {
	for i := range g.Drivers {
		d := g.Drivers[i].Load()
		if d == nil {
			continue
		}
		_ = d.R.Submit(&reactor.Op{Kind: reactor.Cancel, Target: kind, Token: e.Token, FD: e.FD})
	}
	g.Nudge()
}

// Nudge makes cancels take effect that wait for a worker that does not poll. In the call the kernel
// also does the work that their ends need.
func (g *Group) Nudge() {
	for i := range g.Drivers {
		if d := g.Drivers[i].Load(); d != nil && d.taker.TryLock() {
			_, _ = d.R.Rescue(nil)
			d.taker.Unlock()
		}
	}
}
