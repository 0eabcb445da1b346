// Package config is what the proxy is told to do: by its command line, or by a file in
// TOML that may have several routes.
package config

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// A Config is a whole configuration. Zero means the default that each field names.
type Config struct {
	Workers  int      `toml:"workers"`   // 0: as many as processors; fixed at the start
	Backend  string   `toml:"backend"`   // io_uring or epoll; "": the better one that starts; fixed at the start
	BusyPoll Duration `toml:"busy_poll"` // how long a worker polls before it waits, up to 1ms: lower latency, more CPU time. 0: not at all; fixed at the start
	Coalesce Duration `toml:"coalesce"`  // delays wake-ups under load, at most 1ms; chooses epoll. 0: not at all; fixed at the start
	Admin    string   `toml:"admin"`     // host:port of the console and the metrics; "": none; fixed at the start

	// These guard the console.
	AdminToken   string   `toml:"admin_token"`   // a bearer token, or the password of Basic authentication. "": none is needed
	AdminHosts   []string `toml:"admin_hosts"`   // names by which it may be asked for, besides IP addresses and localhost
	AdminTimeout Duration `toml:"admin_timeout"` // for a request's head, and for its answer. 0: 10 s; fixed at the start

	// MaxConnections bounds clients' connections of all routes at a time, from their accept on; the
	// next is reset. 0: half of the descriptors that the process may have. Negative: no bound.
	MaxConnections int `toml:"max_connections"`

	// MaxPerSource bounds the connections of one IPv4 address, or of one /64 of IPv6; behind a
	// PROXY header those of the client that it names. 0: half of MaxConnections, and no bound for
	// loopback addresses. Negative: no bound.
	MaxPerSource int `toml:"max_per_source"`

	KeepAlive Duration `toml:"keep_alive"` // the kernel probes a client after this silence, and then this often, in whole seconds. 0: 15 s
	LogRate   int      `toml:"log_rate"`   // lines of one kind in a second; more are counted. The access log has no bound. 0: 10. Negative: no bound. Fixed at the start

	AccessLog bool `toml:"access_log"` // a line for each connection, session or request, on the standard error

	// Drain is how long connections may go on after SIGTERM. 0: 30 s.
	Drain Duration `toml:"drain_timeout"`

	Routes []*Route `toml:"route"`
}

// A Route is what becomes of the connections of some listeners.
type Route struct {
	Name   string    `toml:"name"`   // its counts are kept by it. "": listen and server_names
	Listen []Address `toml:"listen"` // of one kind: streams, udp or http

	// ServerNames are the names of the route: it takes TLS connections whose ClientHello asks for
	// one of them. *.example.com is any one label. All later bytes are the upstream's. Routes with
	// names may share a listener, with one without that takes the rest.
	ServerNames []string `toml:"server_names"`

	Upstreams []*Upstream `toml:"upstream"`
	Balance   Balance     `toml:"balance"` // "": round_robin

	// Retries is how many more upstreams are tried after one to which no connection
	// could be established. 0: 2. Negative: none.
	Retries int `toml:"retries"`

	MaxConnections int      `toml:"max_connections"` // at a time, those with an unfinished TLS handshake or PROXY header included; the next is reset. 0: no bound
	ConnectTimeout Duration `toml:"connect_timeout"` // of each try. 0: 5 s
	IdleTimeout    Duration `toml:"idle_timeout"`    // without a byte either way. 0: 10 minutes; of udp 1
	HeaderTimeout  Duration `toml:"header_timeout"`  // for a ClientHello, a PROXY header, a request's head. 0: 10 s
	ReplyTimeout   Duration `toml:"reply_timeout"`   // of http: for the head of an answer. 0: 60 s
	MaxRequests    int      `toml:"max_requests"`    // of http: on one connection. 0: 1000. Negative: no bound

	// MinRate is how many bytes in a second a client of http must send of a request's body, and
	// take of an answer, on average after HeaderTimeout. Time that the upstream takes does not
	// count. 0: 240. Negative: no bound.
	MinRate int `toml:"min_rate"`

	// PassHeaders are fields of requests that go on to the upstream. By default http drops them,
	// since an upstream would believe them and any client can write them. They are X-Real-IP,
	// True-Client-IP, X-Client-IP, X-Cluster-Client-IP, CF-Connecting-IP, Proxy, and
	// X-Forwarded-Port, -Server and every other X-Forwarded- field that the gateway does not write
	// itself.
	PassHeaders []string `toml:"pass_headers"`

	// Underscores passes on fields of requests whose names have underscores, unless with
	// hyphens they would be dropped. Many upstreams take the one for the other. Of http.
	Underscores bool `toml:"underscores"`

	// ProxyFrom are the addresses whose connections begin with a PROXY header; others are
	// refused then. None: nobody's do.
	ProxyFrom []netip.Prefix `toml:"proxy_from"`
	ProxyTo   int            `toml:"proxy_to"` // the version of the header that upstreams are sent: 1 or 2. 0: none

	TLS         *Certificate `toml:"tls"`          // nil: it is not terminated
	UpstreamTLS UpstreamTLS  `toml:"upstream_tls"` // for upstreams with tls://

	Health Health `toml:"health"`
	UDP    UDP    `toml:"udp"`

	unnamed bool // Check makes Name
	sockets []Socket
	shared  bool // another route listens on one of them, too
}

// A Socket names what a route listens on, from one configuration to the next. Routes with the same
// share it.
type Socket struct{ network, host, own string }

// Sockets are those of Listen, in its order, once Check has been called.
func (r *Route) Sockets() []Socket { return r.sockets }

// An Upstream is one of those that a route's connections go to.
type Upstream struct {
	Address        Address `toml:"address"`
	Weight         int     `toml:"weight"`          // 0: 1
	MaxConnections int     `toml:"max_connections"` // of this route. 0: no bound
}

// A Certificate is what TLS is terminated with; both are paths of PEM files.
type Certificate struct {
	Certificate string `toml:"certificate"`
	Key         string `toml:"key"`
}

// UpstreamTLS is how upstreams are believed.
type UpstreamTLS struct {
	ServerName string `toml:"server_name"` // "": the host of the address
	CA         string `toml:"ca"`          // the path of a PEM file. "": the system's
	Insecure   bool   `toml:"insecure"`    // anybody is believed
}

// Health is when upstreams are left alone.
type Health struct {
	Fails int      `toml:"fails"` // this many failures in a row. 0: 3
	Eject Duration `toml:"eject"` // for so long, without Interval. 0: 10 s

	// Interval, unless it is 0, is the time between checks of each upstream. A check connects. If
	// Path is set it sends a GET, and expects 2xx or 3xx. A failed upstream gets no connections
	// until a check succeeds.
	Interval Duration `toml:"interval"`
	Timeout  Duration `toml:"timeout"` // of one question. 0: 2 s
	Path     string   `toml:"path"`
}

// UDP bounds sessions.
type UDP struct {
	MaxSessions  int `toml:"max_sessions"`   // at a time; the next takes the place of the oldest without an answer, else its datagrams are dropped. 0: 65536
	MaxPerSource int `toml:"max_per_source"` // of one IPv4 address, or one /64 of IPv6. 0: a quarter of MaxSessions, and no bound for loopback addresses. Negative: no bound
	MaxReplies   int `toml:"max_replies"`    // datagrams to a client for each one that it has sent; more are dropped. 0: 1000. Negative: no bound
	MaxRate      int `toml:"max_rate"`       // datagrams of a session in a second; more are dropped. 0: no bound
}

// A Duration is one that is written as time.ParseDuration reads it.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v < 0 {
		err = fmt.Errorf("%q is negative", text)
	}
	*d = Duration(v)
	return err
}

// Or is the duration, or a default for 0.
func (d Duration) Or(v time.Duration) time.Duration {
	if d == 0 {
		return v
	}
	return time.Duration(d)
}

// Read reads a file, and changes it by override. An unknown key is an error, so that no typing
// mistake goes unnoticed.
func Read(path string, override func(*Config)) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parse(string(text))
	if err == nil {
		override(c)
		err = c.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse is Read for what a file holds.
func Parse(text string) (*Config, error) {
	c, err := parse(text)
	if err != nil {
		return nil, err
	}
	return c, c.Check()
}

func parse(text string) (*Config, error) {
	c := new(Config)
	meta, err := toml.Decode(text, c)
	if err != nil {
		return nil, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		names := make([]string, len(unknown))
		for i, k := range unknown {
			names[i] = k.String()
		}
		return nil, fmt.Errorf("unknown: %s", strings.Join(names, ", "))
	}
	return c, nil
}
