package conn

import (
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/owned"
	"github.com/suiro-go/suiro/metrics"
)

// An originFigure is a family with samples for each origin of a kind: for each listening address,
// or one for all dials.
type originFigure struct {
	kind             engine.OriginKind
	name, unit, help string
	is               metrics.Kind
	samples          func(o *engine.Origin, live *liveFigures) []metrics.Sample
}

var originFigures = []originFigure{
	{engine.Accepted, "suiro.active_connections", "{connection}", "Accepted connections that have not ended.", metrics.Gauge, originActive},
	{engine.Accepted, "suiro.accepted_connections", "{connection}", "Connections that were accepted.", metrics.Counter, originBegun},
	{engine.Accepted, "suiro.rejected_connections", "{connection}", "Connections that were reset when they were accepted, by the reason.", metrics.Counter, originRejected},
	{engine.Accepted, "suiro.accept_errors", "{error}", "Failures to accept, such as a lack of descriptors.", metrics.Counter, originAcceptErrors},
	{engine.Accepted, "suiro.connection.duration", "s", "Durations of accepted connections that have ended, by the error.", metrics.Histogram, originLives},
	{engine.Accepted, "suiro.network.io", "By", "Bytes of accepted connections, as on the wire.", metrics.Counter, originIO},
	{engine.Accepted, "suiro.network.unsent", "By", "Bytes written to accepted connections that the kernel has not taken.", metrics.Gauge, originUnsent},
	{engine.Accepted, "suiro.active_tls_handshakes", "{handshake}", "TLS handshakes of accepted connections in progress.", metrics.Gauge, originShaking},
	{engine.Accepted, "suiro.tls_handshake.duration", "s", "Durations of TLS handshakes of accepted connections, by the error.", metrics.Histogram, originShakes},

	{engine.Dialed, "suiro.client.active_connections", "{connection}", "Dialed connections that have not ended, those being established among them.", metrics.Gauge, originActive},
	{engine.Dialed, "suiro.client.connections", "{connection}", "Connections that were dialed.", metrics.Counter, originBegun},
	{engine.Dialed, "suiro.client.connection.duration", "s", "Durations of dialed connections that have ended, by the error.", metrics.Histogram, originLives},
	{engine.Dialed, "suiro.client.network.io", "By", "Bytes of dialed connections, as on the wire.", metrics.Counter, originIO},
	{engine.Dialed, "suiro.client.network.unsent", "By", "Bytes written to dialed connections that the kernel has not taken.", metrics.Gauge, originUnsent},
	{engine.Dialed, "suiro.client.active_tls_handshakes", "{handshake}", "TLS handshakes of dialed connections in progress.", metrics.Gauge, originShaking},
	{engine.Dialed, "suiro.client.tls_handshake.duration", "s", "Durations of TLS handshakes of dialed connections, by the error.", metrics.Histogram, originShakes},

	{engine.Datagrams, "suiro.active_packet_sockets", "{socket}", "Datagram sockets that have not ended.", metrics.Gauge, originActive},
	{engine.Datagrams, "suiro.datagrams", "{datagram}", "Datagrams that were received and sent.", metrics.Counter, originDatagrams},
	{engine.Datagrams, "suiro.datagram.io", "By", "Bytes of datagrams that were received and sent.", metrics.Counter, originIO},
	{engine.Datagrams, "suiro.dropped_datagrams", "{datagram}", "Datagrams that handlers' sockets have not sent or received, by the reason.", metrics.Counter, originDropped},
}

func originActive(o *engine.Origin, _ *liveFigures) []metrics.Sample {
	return []metrics.Sample{{Labels: originLabels(o), Value: float64(o.Active())}}
}

func originBegun(o *engine.Origin, _ *liveFigures) []metrics.Sample {
	return []metrics.Sample{{Labels: originLabels(o), Value: float64(o.Begun())}}
}

func originRejected(o *engine.Origin, _ *liveFigures) (all []metrics.Sample) {
	for why, name := range engine.RefusalNames {
		n := o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.Refused[why] })
		all = append(all, metrics.Sample{Labels: originLabels(o, "error.type", name), Value: float64(n)})
	}
	return all
}

func originAcceptErrors(o *engine.Origin, _ *liveFigures) []metrics.Sample {
	n := o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.AcceptErrors })
	return []metrics.Sample{{Labels: originLabels(o), Value: float64(n)}}
}

func originLives(o *engine.Origin, _ *liveFigures) (all []metrics.Sample) {
	for i, name := range engine.EndingNames {
		all = appendDurations(all, o, name, o.LifeSum(engine.Ending(i)))
	}
	return all
}

func originShakes(o *engine.Origin, _ *liveFigures) (all []metrics.Sample) {
	for i, name := range engine.FailureNames {
		all = appendDurations(all, o, name, o.ShakeSum(engine.Failure(i)))
	}
	return all
}

// appendDurations appends a histogram that is not empty. One without an error is always there.
func appendDurations(all []metrics.Sample, o *engine.Origin, name string, s *owned.Sum) []metrics.Sample {
	if s.Count == 0 && name != "" {
		return all
	}
	labels := originLabels(o)
	if name != "" {
		labels = originLabels(o, "error.type", name)
	}
	return append(all, metrics.Sample{Labels: labels, Distribution: s.Distribution(time.Microsecond.Seconds(), owned.Long)})
}

func originShaking(o *engine.Origin, _ *liveFigures) []metrics.Sample {
	ended := o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.Shaken })
	n := o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.Shaking }) - ended
	return []metrics.Sample{{Labels: originLabels(o), Value: float64(n)}}
}

func originIO(o *engine.Origin, live *liveFigures) []metrics.Sample {
	return directions(o, live.received, live.sent)
}

func directions(o *engine.Origin, in, out uint64) []metrics.Sample {
	return []metrics.Sample{
		{Labels: originLabels(o, "network.io.direction", "receive"), Value: float64(in)},
		{Labels: originLabels(o, "network.io.direction", "transmit"), Value: float64(out)},
	}
}

func originUnsent(o *engine.Origin, live *liveFigures) []metrics.Sample {
	return []metrics.Sample{{Labels: originLabels(o), Value: float64(live.unsent)}}
}

func originDatagrams(o *engine.Origin, _ *liveFigures) []metrics.Sample {
	in := o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.In }) + o.Outside.In.Load()
	out := o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.Out }) + o.Outside.Out.Load()
	return directions(o, in, out)
}

func originDropped(o *engine.Origin, _ *liveFigures) (all []metrics.Sample) {
	for why, name := range engine.DropNames {
		n := o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.Dropped[why] }) + o.Outside.Dropped[why].Load()
		all = append(all, metrics.Sample{Labels: originLabels(o, "error.type", name), Value: float64(n)})
	}
	return all
}

// originLabels are the labels of an address, and one more pair.
func originLabels(o *engine.Origin, more ...string) (all []metrics.Label) {
	for _, l := range [...]metrics.Label{{Name: "server.address", Value: o.Key.Address}, {Name: "server.port", Value: o.Key.Port}, {Name: "network.transport", Value: o.Key.Network}} {
		if l.Value != "" {
			all = append(all, l)
		}
	}
	if len(more) > 0 {
		all = append(all, metrics.Label{Name: more[0], Value: more[1]})
	}
	return all
}

// liveFigures are sums over the connections of an origin. received and sent are those of
// connections that have ended as well.
type liveFigures struct {
	received, sent uint64
	unsent         int
}

// liveFigures adds up the bytes of all origins. Those of ended connections come first: see
// core.life.
func (g *Group) liveFigures(all []*engine.Origin) map[*engine.Origin]*liveFigures {
	sums := make(map[*engine.Origin]*liveFigures, len(all))
	for _, o := range all {
		sums[o] = &liveFigures{
			received: o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.Received }) + o.Outside.Received.Load(),
			sent:     o.Sum(func(p *engine.OriginPart) *owned.Counter { return &p.Sent }) + o.Outside.Sent.Load(),
		}
	}
	for e := range g.core.Engine.Table.All() {
		c := core.ConnOf(e)
		if c == nil {
			continue
		}
		if s := sums[c.Origin()]; s != nil {
			t := c.Traffic()
			s.received, s.sent, s.unsent = s.received+t.Received, s.sent+t.Sent, s.unsent+t.Unsent
		}
	}
	for o, s := range sums {
		s.received, s.sent = o.Grown(engine.TotalReceived, s.received), o.Grown(engine.TotalSent, s.sent)
	}
	return sums
}

func (g *Group) originMetrics() (families []metrics.Family) {
	all := g.core.Engine.Origins.All()
	live := g.liveFigures(all)
	for i := range originFigures {
		f := &originFigures[i]
		family := metrics.Family{Name: f.name, Unit: f.unit, Help: f.help, Kind: f.is}
		for _, o := range all {
			if o.Key.Kind == f.kind {
				family.Samples = append(family.Samples, f.samples(o, live[o])...)
			}
		}
		families = append(families, family)
	}
	return families
}
