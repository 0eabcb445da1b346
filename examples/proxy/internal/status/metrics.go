package status

import (
	"fmt"
	"io"
	"strings"
)

// A metric is one name of the exposition format, and its value for a route.
type metric struct {
	name, kind, help string
	of               func(*Route) any
}

var perRoute = []metric{
	{"connections", "gauge", "Connections or sessions there are.", func(r *Route) any { return r.Active }},
	{"connections_total", "counter", "Connections or sessions there were.", func(r *Route) any { return r.Accepted }},
	{"refused_total", "counter", "Connections or sessions beyond a bound.", func(r *Route) any { return r.Refused }},
	{"failed_total", "counter", "Connections, sessions or requests for which no upstream was to be had.", func(r *Route) any { return r.Failed }},
	{"broken_total", "counter", "Connections that ended with an error.", func(r *Route) any { return r.Broken }},
	{"retries_total", "counter", "Further upstreams that were tried.", func(r *Route) any { return r.Retried }},
	{"requests_total", "counter", "Requests of HTTP.", func(r *Route) any { return r.Requests }},
	{"datagrams_dropped_total", "counter", "Datagrams beyond a bound.", func(r *Route) any { return r.Dropped }},
	{"sessions_evicted_total", "counter", "UDP sessions without an answer that made room for others.", func(r *Route) any { return r.Evicted }},
	{"received_bytes_total", "counter", "Bytes from clients.", func(r *Route) any { return r.In }},
	{"sent_bytes_total", "counter", "Bytes to clients.", func(r *Route) any { return r.Out }},
}

// WriteMetrics writes Prometheus's text format, version 0.0.4.
func WriteMetrics(w io.Writer, s *Snapshot) error {
	var b strings.Builder
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP suiro_proxy_%s %s\n# TYPE suiro_proxy_%[1]s %[3]s\n", name, help, kind)
	}
	for _, m := range perRoute {
		head(m.name, m.kind, m.help)
		for i := range s.Routes {
			fmt.Fprintf(&b, "suiro_proxy_%s{route=%s} %v\n", m.name, label(s.Routes[i].Name), m.of(&s.Routes[i]))
		}
	}
	upstreams := func(name, kind, help string, of func(i, j int) any) {
		head(name, kind, help)
		for i := range s.Routes {
			r := &s.Routes[i]
			for j := range r.Upstreams {
				fmt.Fprintf(&b, "suiro_proxy_%s{route=%s,upstream=%s} %v\n", name, label(r.Name), label(r.Upstreams[j].Address), of(i, j))
			}
		}
	}
	upstreams("upstream_healthy", "gauge", "1: it is not left alone.", func(i, j int) any {
		if s.Routes[i].Upstreams[j].Healthy {
			return 1
		}
		return 0
	})
	upstreams("upstream_connections", "gauge", "Connections to it, those being established included.", func(i, j int) any { return s.Routes[i].Upstreams[j].Active })
	upstreams("upstream_connections_total", "counter", "Connections to it that were established; of http, requests that it was given.", func(i, j int) any { return s.Routes[i].Upstreams[j].Opened })
	upstreams("upstream_failures_total", "counter", "Connections that could not be, and questions without an answer.", func(i, j int) any { return s.Routes[i].Upstreams[j].Failures })
	head("client_connections", "gauge", "Clients' connections of all routes.")
	fmt.Fprintf(&b, "suiro_proxy_client_connections %d\n", s.Clients)
	head("refused_clients_total", "counter", "Clients' connections that were refused beyond max_connections (all) or max_per_source (source).")
	fmt.Fprintf(&b, "suiro_proxy_refused_clients_total{bound=\"all\"} %d\nsuiro_proxy_refused_clients_total{bound=\"source\"} %d\n", s.OverAll, s.OverSource)
	head("junk_connections_total", "counter", "Connections that ended before they belonged to a route: no valid TLS, ClientHello or PROXY header.")
	fmt.Fprintf(&b, "suiro_proxy_junk_connections_total %d\n", s.Junk)
	head("start_time_seconds", "gauge", "When it started, in Unix time.")
	fmt.Fprintf(&b, "suiro_proxy_start_time_seconds %d\n", s.Started.Unix())
	head("goroutines", "gauge", "Goroutines there are.")
	fmt.Fprintf(&b, "suiro_proxy_goroutines %d\n", s.Goroutines)
	head("open_fds", "gauge", "Descriptors that are open.")
	fmt.Fprintf(&b, "suiro_proxy_open_fds %d\n", s.Descriptors)
	head("heap_bytes", "gauge", "Memory of objects.")
	fmt.Fprintf(&b, "suiro_proxy_heap_bytes %d\n", s.Heap)
	_, err := io.WriteString(w, b.String())
	return err
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func label(v string) string { return `"` + escape.Replace(v) + `"` }
