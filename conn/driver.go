package conn

import (
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/reactor"
)

// A driver is a worker's own data for connections, over its reactor. A connection's task runs on
// any worker, and uses that worker's driver.
type driver struct {
	engine.Driver

	// The worker's goroutine alone, for whichever reactor it works.
	group    *Group
	budget   int   // calls of OnData left to the task that runs
	telling  *Conn // whose OnClose is being called
	news     bool  // which has been brought bytes, or the end of its receive
	buffers  bufs.Pool
	backlogs bufs.FreeList[backlog]
	mails    bufs.FreeList[mail]
	scratch  flow.Scratch // what tasks receive into themselves, see readNow
}

func newDriver(g *Group, worker int) (*driver, error) {
	if err := g.core.Inert.Hold(); err != nil { // Close drops it
		return nil, err
	}
	r, err := reactor.Open(g.cfg.Reactor)
	if err != nil {
		g.core.Inert.Drop()
		return nil, err
	}
	return driverFor(g, worker, r), nil
}

// driverFor is the driver of a worker with that reactor.
func driverFor(g *Group, worker int, r reactor.Reactor) *driver {
	d := &driver{group: g, buffers: bufs.Pool{Ration: g.ration}}
	d.Init(&g.core, worker, r)
	return d
}

// driverOf is the driver of the worker that has taken a completion.
func driverOf(by *engine.Driver) *driver { return by.Cx.Driver().(*driver) }
