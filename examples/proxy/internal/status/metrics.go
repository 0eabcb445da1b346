package status

import "github.com/suiro-go/suiro/metrics"

// A routeFigure is a family with a sample for each route.
type routeFigure struct {
	name, unit, help string
	kind             metrics.Kind
	of               func(*Route) float64
}

var routeFigures = []routeFigure{
	{"suiro.proxy.active_connections", "{connection}", "Connections or sessions there are.", metrics.Gauge, func(r *Route) float64 { return float64(r.Active) }},
	{"suiro.proxy.connections", "{connection}", "Connections or sessions there were.", metrics.Counter, func(r *Route) float64 { return float64(r.Accepted) }},
	{"suiro.proxy.refused", "{connection}", "Connections or sessions beyond a bound.", metrics.Counter, func(r *Route) float64 { return float64(r.Refused) }},
	{"suiro.proxy.failed", "{request}", "Connections, sessions or requests for which no upstream was to be had.", metrics.Counter, func(r *Route) float64 { return float64(r.Failed) }},
	{"suiro.proxy.broken", "{connection}", "Connections that ended with an error.", metrics.Counter, func(r *Route) float64 { return float64(r.Broken) }},
	{"suiro.proxy.retries", "{retry}", "Further upstreams that were tried.", metrics.Counter, func(r *Route) float64 { return float64(r.Retried) }},
	{"suiro.proxy.requests", "{request}", "Requests of HTTP.", metrics.Counter, func(r *Route) float64 { return float64(r.Requests) }},
	{"suiro.proxy.datagrams_dropped", "{datagram}", "Datagrams beyond a bound.", metrics.Counter, func(r *Route) float64 { return float64(r.Dropped) }},
	{"suiro.proxy.sessions_evicted", "{session}", "UDP sessions without an answer that made room for others.", metrics.Counter, func(r *Route) float64 { return float64(r.Evicted) }},
	{"suiro.proxy.received", "By", "Bytes from clients.", metrics.Counter, func(r *Route) float64 { return float64(r.In) }},
	{"suiro.proxy.sent", "By", "Bytes to clients.", metrics.Counter, func(r *Route) float64 { return float64(r.Out) }},
}

// An upstreamFigure is a family with a sample for each upstream of each route.
type upstreamFigure struct {
	name, unit, help string
	kind             metrics.Kind
	of               func(r *Route, i int) float64
}

var upstreamFigures = []upstreamFigure{
	{"suiro.proxy.upstream_healthy", "{upstream}", "1: it is not left alone.", metrics.Gauge, func(r *Route, i int) float64 {
		if r.Upstreams[i].Healthy {
			return 1
		}
		return 0
	}},
	{"suiro.proxy.upstream_active_connections", "{connection}", "Connections to it, those being established included.", metrics.Gauge,
		func(r *Route, i int) float64 { return float64(r.Upstreams[i].Active) }},
	{"suiro.proxy.upstream_connections", "{connection}", "Connections to it that were established; of http, requests that it was given.", metrics.Counter,
		func(r *Route, i int) float64 { return float64(r.Upstreams[i].Opened) }},
	{"suiro.proxy.upstream_failures", "{failure}", "Connections that could not be, and questions without an answer.", metrics.Counter,
		func(r *Route, i int) float64 { return float64(r.Upstreams[i].Failures) }},
}

// Metrics are the figures of the proxy alone. Those of its connections and workers are its group's.
func (s *Snapshot) Metrics() (all []metrics.Family) {
	for _, f := range routeFigures {
		family := metrics.Family{Name: f.name, Unit: f.unit, Help: f.help, Kind: f.kind}
		for i := range s.Routes {
			family.Samples = append(family.Samples, sample(f.of(&s.Routes[i]), "route", s.Routes[i].Name))
		}
		all = append(all, family)
	}
	for _, f := range upstreamFigures {
		family := metrics.Family{Name: f.name, Unit: f.unit, Help: f.help, Kind: f.kind}
		for i := range s.Routes {
			r := &s.Routes[i]
			for j := range r.Upstreams {
				family.Samples = append(family.Samples, sample(f.of(r, j), "route", r.Name, "upstream", r.Upstreams[j].Address))
			}
		}
		all = append(all, family)
	}
	one := func(name, unit, help string, kind metrics.Kind, v float64) metrics.Family {
		return metrics.Family{Name: name, Unit: unit, Help: help, Kind: kind, Samples: []metrics.Sample{sample(v)}}
	}
	return append(all,
		one("suiro.proxy.client_connections", "{connection}", "Clients' connections of all routes.", metrics.Gauge, float64(s.Clients)),
		metrics.Family{Name: "suiro.proxy.refused_clients", Unit: "{connection}", Kind: metrics.Counter,
			Help:    "Clients' connections that were refused beyond max_connections (all) or max_per_source (source).",
			Samples: []metrics.Sample{sample(float64(s.OverAll), "bound", "all"), sample(float64(s.OverSource), "bound", "source")}},
		one("suiro.proxy.junk_connections", "{connection}", "Connections that ended before they belonged to a route: no valid TLS, ClientHello or PROXY header.", metrics.Counter, float64(s.Junk)),
		one("suiro.proxy.start_time", "s", "When it started, in Unix time.", metrics.Gauge, float64(s.Started.Unix())),
		one("suiro.proxy.goroutines", "{goroutine}", "Goroutines there are.", metrics.Gauge, float64(s.Goroutines)),
		one("suiro.proxy.open_fds", "{fd}", "Descriptors that are open.", metrics.Gauge, float64(s.Descriptors)),
		one("suiro.proxy.heap", "By", "Memory of objects.", metrics.Gauge, float64(s.Heap)),
	)
}

func sample(v float64, labels ...string) metrics.Sample {
	s := metrics.Sample{Value: v}
	for i := 0; i < len(labels); i += 2 {
		s.Labels = append(s.Labels, metrics.Label{Name: labels[i], Value: labels[i+1]})
	}
	return s
}
