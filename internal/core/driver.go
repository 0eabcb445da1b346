package core

import (
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/reactor"
)

// A Driver is a worker's own data for connections, over its reactor. A connection's task runs on
// any worker, and uses that worker's driver.
type Driver struct {
	engine.Driver

	// The worker's goroutine alone, for whichever reactor it works.
	Group       *Group
	budget      int   // calls of OnData left to the task that runs
	telling     *Conn // whose OnClose is being called
	received    bool  // the run of the task got bytes, or the end of its receive
	Buffers     bufs.Pool
	pendingWork bufs.FreeList[pendingWork]
	freeQueues  freeQueues
	scratch     flow.Scratch // what tasks receive into themselves, see readNow
}

func newDriver(g *Group, worker int) (*Driver, error) {
	if err := g.Engine.Inert.Hold(); err != nil { // Close drops it
		return nil, err
	}
	r, err := reactor.Open(g.Config.Reactor)
	if err != nil {
		g.Engine.Inert.Drop()
		return nil, err
	}
	if g.debugIO != nil {
		r = engine.Logged(r, worker, g.debugIO)
	}
	return DriverFor(g, worker, r), nil
}

// DriverFor is the driver of a worker with that reactor.
func DriverFor(g *Group, worker int, r reactor.Reactor) *Driver {
	d := &Driver{Group: g, Buffers: bufs.Pool{Ration: g.ration}}
	d.Init(&g.Engine, worker, r)
	return d
}

// Trim is for a spare worker: see sched.Driver.
func (d *Driver) Trim() {
	d.Driver.Trim()
	d.Buffers = bufs.Pool{Ration: d.Buffers.Ration}
	d.pendingWork, d.freeQueues, d.scratch = bufs.FreeList[pendingWork]{}, freeQueues{}, flow.Scratch{}
}

// DriverOf is the driver of the worker that has taken a completion.
func DriverOf(by *engine.Driver) *Driver { return by.Cx.Driver().(*Driver) }
