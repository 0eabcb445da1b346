package engine

import "context"

// An Order is what all targets of a group are told.
type Order uint8

const (
	Abort Order = iota // end at once
	Drain              // come to an end
	Stage              // a stage of the group's end has begun
	Sever              // datagrams: receive nothing more, though a worker is stuck
)

// An Ordered target is told orders, by any goroutine. One that has ended takes no notice.
type Ordered interface{ Obey(o Order) }

// An Abandoned target is told when the workers have stopped: its task runs no more, and no
// completion is delivered. It closes its descriptor and ends the waits for it.
type Abandoned interface{ Abandon() }

// AbandonLate is for a target that has just been added to the table: the workers may have stopped
// before.
func (g *Group) AbandonLate(t Abandoned) {
	select {
	case <-g.RT.Done():
		t.Abandon()
	default:
	}
}

// The stages of a group's end: which connections are told to end.
const (
	drainNobody = iota
	drainServed // connections that were accepted, and packet sockets that listen
	drainAll
	abortAll // no connection is told any more: new ones are reset
)

// TellAll has every target obey an order.
func (g *Group) TellAll(o Order) {
	for e := range g.Table.All() {
		if t, ok := e.Target.(Ordered); ok {
			t.Obey(o)
		}
	}
}

// Shutdown drains the accepted connections and waits for their end. Then it does so with those that
// were dialed; conn.Group.Shutdown says more.
func (g *Group) Shutdown(ctx context.Context) error {
	if err := g.ShutdownServed(ctx); err != nil {
		return err
	}
	g.begin(drainAll)
	return g.Wait(ctx)
}

// ShutdownServed drains the accepted connections, and waits for their end.
func (g *Group) ShutdownServed(ctx context.Context) error {
	g.begin(drainServed)
	return g.Census.Wait(ctx, g.RT.Done(), Served)
}

// begin begins a stage. A target that is attached before the stage is stored is in the
// table, so it is told here. One that is attached later sees the stage after its OnOpen.
func (g *Group) begin(stage int32) {
	g.enter(stage)
	g.TellAll(Stage)
}

func (g *Group) enter(stage int32) {
	for {
		was := g.stage.Load()
		if was >= stage || g.stage.CompareAndSwap(was, stage) {
			return
		}
	}
}

// AbortAll resets all connections, also those that begin from now on.
func (g *Group) AbortAll() {
	g.enter(abortAll)
	g.TellAll(Abort)
}

// Enter counts a connection that begins, or reports false because all are to end. It counts first
// and then checks the stage. AbortAll is called before a Wait that checks the count. So either
// Enter refuses, or that Wait waits for the new connection.
func (g *Group) Enter(outbound bool) bool {
	g.Census.Join(outbound)
	if g.Aborting() {
		g.Census.Leave(outbound)
		return false
	}
	return true
}

// Aborting reports whether new connections are to be reset.
func (g *Group) Aborting() bool { return g.stage.Load() == abortAll }

// Draining reports whether connections that were dialed, or those that were not, are to end.
func (g *Group) Draining(outbound bool) bool {
	stage := g.stage.Load()
	return stage >= drainAll || stage == drainServed && !outbound
}
