package conn

import "github.com/suiro-go/suiro/metrics"

// A groupFigure is a family with one sample.
type groupFigure struct {
	name, unit, help string
	kind             metrics.Kind
	of               func(*Group) float64
}

var groupFigures = []groupFigure{
	{"suiro.connections", "{connection}", "Connections and packet sockets that have not ended.", metrics.Gauge,
		func(g *Group) float64 { return float64(g.Len()) }},
	{"suiro.handler.errors", "{error}", "Errors that handlers have returned.", metrics.Counter,
		func(g *Group) float64 { return float64(g.core.Engine.HandlerErrors()) }},
	{"suiro.handler.panics", "{panic}", "Panics of handlers.", metrics.Counter,
		func(g *Group) float64 { return float64(g.core.Engine.HandlerPanics()) }},
	{"suiro.shed_connections", "{connection}", "Connections that were reset because MaxMemory was reached.", metrics.Counter,
		func(g *Group) float64 { return float64(g.core.Resets()) }},
	{"suiro.reactor.buffer_exhaustions", "{exhaustion}", "Receives that have found no free buffer of their reactor.", metrics.Counter,
		func(g *Group) float64 { return float64(g.core.Engine.Exhausted()) }},
	{"suiro.io_uring.overflows", "{overflow}", "Polls that have found io_uring's queue of completions full.", metrics.Counter,
		func(g *Group) float64 { return float64(g.shortages.overflows.Load()) }},
	{"suiro.io_uring.shortages", "{shortage}", "Times that the kernel lacked memory to take operations.", metrics.Counter,
		func(g *Group) float64 { return float64(g.Shortages()) }},
	{"suiro.io_uring.dropped_completions", "{completion}", "Completions that the kernel has dropped for want of memory.", metrics.Counter,
		func(g *Group) float64 { return float64(g.Dropped()) }},
	{"suiro.memory.buffered", "By", "Bytes that connections have buffered, as MaxMemory counts them; 0 without that.", metrics.Gauge,
		func(g *Group) float64 { return float64(g.Buffered()) }},
	{"suiro.memory.write_excess", "By", "Bytes queued above HighWater by all connections.", metrics.Gauge,
		func(g *Group) float64 { return float64(g.core.Excess.Load()) }},
}

// Metrics returns the figures of the group, and those of its runtime. Any goroutine may call it. It
// stops no worker. It takes a lock for each connection, one after the other.
func (g *Group) Metrics() []metrics.Family {
	all := g.Runtime().Metrics()
	for i := range groupFigures {
		f := &groupFigures[i]
		all = append(all, metrics.Family{Name: f.name, Unit: f.unit, Help: f.help, Kind: f.kind, Samples: []metrics.Sample{{Value: f.of(g)}}})
	}
	return append(all, g.originMetrics()...)
}

var _ metrics.Source = (*Group)(nil)
