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

// The stages of a group's end: what is told to come to its end.
const (
	drainNobody = iota
	drainServed // connections that were accepted, and packet sockets that listen
	drainAll
	abortAll // nothing is told any more: what begins is reset
)

// TellAll has every target obey an order.
func (g *Group) TellAll(o Order) {
	for e := range g.Table.All() {
		if t, ok := e.Target.(Ordered); ok {
			t.Obey(o)
		}
	}
}

// Shutdown drains what is served, waits for its end, and does the same with what was dialled;
// conn.Group.Shutdown says more.
func (g *Group) Shutdown(ctx context.Context) error {
	g.begin(drainServed)
	if err := g.Census.Wait(ctx, g.RT.Done(), Served); err != nil {
		return err
	}
	g.begin(drainAll)
	return g.Wait(ctx)
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

// AbortAll resets everything, also what begins from now on.
func (g *Group) AbortAll() {
	g.enter(abortAll)
	g.TellAll(Abort)
}

// Enter counts one that begins, or reports false because everything is to end. It counts first
// and looks then; AbortAll is called before a Wait that looks at the number: so either this
// refuses, or that Wait waits for what begins here.
func (g *Group) Enter(outbound bool) bool {
	g.Census.Join(outbound)
	if g.Aborting() {
		g.Census.Leave(outbound)
		return false
	}
	return true
}

// Aborting reports whether what begins is to be reset.
func (g *Group) Aborting() bool { return g.stage.Load() == abortAll }

// Draining reports whether what was dialled, or what was not, is to come to its end.
func (g *Group) Draining(outbound bool) bool {
	stage := g.stage.Load()
	return stage >= drainAll || stage == drainServed && !outbound
}
