package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const whole = `
admin = "127.0.0.1:9090"
drain_timeout = "5s"
[[route]]
name = "shop"
listen = ["tcp://0.0.0.0:443", "unix:///run/shop.sock"]
server_names = ["shop.example", "*.shop.example"]
balance = "least_connections"
connect_timeout = "1s500ms"
proxy_from = ["10.9.0.0/16"]
proxy_to = 2
upstream = [{ address = "tcp://10.0.0.1:443", weight = 2 }, { address = "10.0.0.2:443", max_connections = 10 }]
health = { interval = "2s", path = "/up", fails = 1 }
[[route]]
listen = ["tcp://0.0.0.0:443"]
proxy_from = ["10.9.0.0/16"]
upstream = [{ address = "unix:///run/other.sock" }]
[[route]]
listen = ["udp://:53", "udp://[::1]:53"]
upstream = [{ address = "udp://10.0.0.5:53" }]
udp = { max_rate = 10 }
`

func TestAFileIsReadAsItIsMeant(t *testing.T) {
	c, err := Parse(whole)
	require.NoError(t, err)
	shop, rest := c.Routes[0], c.Routes[1]
	require.Equal(t, Address{"unix", "/run/shop.sock"}, shop.Listen[1])
	require.Equal(t, Address{"tcp", "10.0.0.2:443"}, shop.Upstreams[1].Address)
	require.Equal(t, LeastConnections, shop.Balance)
	require.Equal(t, 1500*time.Millisecond, shop.ConnectTimeout.Or(time.Hour))
	require.Equal(t, time.Hour, rest.ConnectTimeout.Or(time.Hour))
	require.Equal(t, "tcp://:443", rest.Name)
	require.Equal(t, "udp://:53 udp://[::1]:53", c.Routes[2].Name)
	require.Equal(t, shop.Sockets()[0], rest.Sockets()[0], "they share it")
	require.Equal(t, []string{"stream", "stream", "udp"}, []string{shop.Kind(), rest.Kind(), c.Routes[2].Kind()})
}

func TestEachPort0IsAnotherSocketUnlessNamesShareIt(t *testing.T) {
	c, err := Parse("[[route]]\nlisten = ['tcp://h:0', 'tcp://h:0']\nupstream = [{address = 'h:1'}]\n[[route]]\nlisten = ['http://h:0']\nupstream = [{address = 'h:1'}]")
	require.NoError(t, err)
	a, b := c.Routes[0].Sockets(), c.Routes[1].Sockets()
	require.NotEqual(t, a[0], a[1])
	require.NotEqual(t, a[0], b[0])
}

func TestWhatCannotBeMeantIsRefusedAndSaysWhy(t *testing.T) {
	route := func(s string) string {
		return "[[route]]\nlisten = ['tcp://h:1']\nupstream = [{address = 'h:2'}]\n" + s + "\n"
	}
	for text, why := range map[string]string{
		"":                                          "there is no route",
		route("color = 'red'"):                      "unknown: route.color",
		route("balance = 'mine'"):                   "unknown balance",
		route("idle_timeout = '-1s'"):               "negative",
		route("proxy_to = 3"):                       "versions 1 and 2",
		route("max_connections = -1"):               "0 means no bound",
		route("proxy_from = ['']"):                  "empty prefix",
		route("proxy_from = ['::ffff:0.0.0.0/90']"): "write an IPv4 prefix",
		"[[route]]\nupstream = [{address = 'h:2'}]": "listens nowhere",
		"[[route]]\nlisten = ['tcp://h:1']":         "no upstream",
		"[[route]]\nlisten = ['ip://h']\nupstream = [{address = 'h:2'}]":                         "unknown scheme",
		"[[route]]\nlisten = ['tcp://h']\nupstream = [{address = 'h:2'}]":                        "missing port",
		"[[route]]\nlisten = ['tls://h:1']\nupstream = [{address = 'h:2'}]":                      "set tls",
		"[[route]]\nlisten = ['tcp://h:1', 'udp://h:1']\nupstream = [{address = 'h:2'}]":         "do not go together",
		"[[route]]\nlisten = ['udp://h:1']\nupstream = [{address = 'h:2'}]":                      "do not go together",
		"[[route]]\nlisten = ['udp://h:1']\nproxy_to = 1\nupstream = [{address = 'udp://h:2'}]":  "not for udp",
		"[[route]]\nlisten = ['http://h:1']\nproxy_to = 1\nupstream = [{address = 'h:2'}]":       "X-Forwarded-For",
		"[[route]]\nlisten = ['http://h:1']\nserver_names = ['a']\nupstream = [{address='h:2'}]": "not terminated",
		"[[route]]\nlisten = ['tcp://h:1']\nupstream = [{address = 'h:2', weight = -1}]":         "not negative",
		"[[route]]\nlisten = ['tcp://h:1']\nupstream = [{weight = 1}]":                           "use tcp, unix or tls",
		"[[route]]\nlisten = ['tcp://h:1']\nupstream = [{address = 'h:0'}]":                      "port of an upstream",
		"[[route]]\nlisten = ['tcp://h:1']\nupstream = [{address = 'h:'}]":                       "port of an upstream",
		"[[route]]\nlisten = ['tcp://h:1']\nupstream = [{address = 'tls://h:65536'}]":            "port of an upstream",
		"[[route]]\nlisten = ['udp://h:1']\nupstream = [{address = 'udp://h:0'}]":                "port of an upstream",
		"[[route]]\nlisten = ['http://h:1']\nupstream = [{address = 'http://h:80/'}]":            "port of an upstream",
		"workers = -1\n" + route(""):                                                     "workers",
		"busy_poll = '2ms'\n" + route(""):                                                "busy_poll",
		route("") + route(""):                                                            "different server_names",
		route("name = 'a'") + route("name = 'a'\nserver_names = ['x']"):                  "two routes",
		route("server_names = ['x']") + route("server_names = ['x']"):                    "different server_names",
		route("server_names = ['x']") + route("proxy_from = ['10.0.0.0/8']"):             "must be the same",
		route("server_names = ['x']") + route("tls = {certificate = 'c', key = 'k'}"):    "cannot be terminated",
		route("") + "[[route]]\nlisten = ['http://h:1']\nupstream = [{address = 'h:2'}]": "different server_names",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, why, text)
	}
}

func TestAnUpstreamsPortMayBeAService(t *testing.T) {
	_, err := Parse("[[route]]\nlisten = ['http://h:1']\nupstream = [{address = 'h:http'}, {address = 'tls://h:https'}, {address = 'unix:///s'}]")
	require.NoError(t, err)
}

// The name of a route that has none is what it matches, since its counts are kept by its name.
func TestARouteWithoutANameKeepsItsNameWhereverItStands(t *testing.T) {
	const (
		names = "[[route]]\nlisten = ['tcp://0.0.0.0:443', 'unix:///run//a']\nserver_names = ['B.example.', 'a.example']\nupstream = [{address = 'h:1'}]\n"
		same  = "[[route]]\nlisten = ['unix:///run/a', 'tcp://:443']\nserver_names = ['a.example', 'b.example']\nupstream = [{address = 'h:2'}]\n"
		rest  = "[[route]]\nlisten = ['tcp://:443']\nupstream = [{address = 'h:1'}]\n"
		any   = "[[route]]\nlisten = ['tcp://h:0']\nupstream = [{address = 'h:1'}]\n"
		taken = "[[route]]\nname = 'tcp://:443'\nlisten = ['tcp://h:1']\nupstream = [{address = 'h:1'}]\n"
	)
	of := func(text string) (all []string) {
		c, err := Parse(text)
		require.NoError(t, err)
		require.NoError(t, c.Check(), "again")
		for _, r := range c.Routes {
			all = append(all, r.Name)
		}
		return all
	}
	const both = "tcp://:443 unix:///run/a a.example b.example"
	require.Equal(t, []string{both, "tcp://:443"}, of(names+rest))
	require.Equal(t, []string{"tcp://:443", both}, of(rest+same))
	require.Equal(t, []string{"tcp://h:0", "tcp://h:0 (2)"}, of(any+any))
	require.Equal(t, []string{"tcp://:443 (2)", "tcp://:443"}, of(rest+taken))
}

// Durations of flags have not been read by UnmarshalText.
func TestNoDurationIsNegative(t *testing.T) {
	base := func() *Config {
		c, err := Parse("admin = 'h:1'\n[[route]]\nlisten = ['http://h:1']\nhealth = {interval = '1s'}\nupstream = [{address = 'h:1'}]")
		require.NoError(t, err)
		return c
	}
	for name, of := range map[string]func(c *Config) *Duration{
		"busy_poll":       func(c *Config) *Duration { return &c.BusyPoll },
		"coalesce":        func(c *Config) *Duration { return &c.Coalesce },
		"admin_timeout":   func(c *Config) *Duration { return &c.AdminTimeout },
		"keep_alive":      func(c *Config) *Duration { return &c.KeepAlive },
		"drain_timeout":   func(c *Config) *Duration { return &c.Drain },
		"connect_timeout": func(c *Config) *Duration { return &c.Routes[0].ConnectTimeout },
		"idle_timeout":    func(c *Config) *Duration { return &c.Routes[0].IdleTimeout },
		"header_timeout":  func(c *Config) *Duration { return &c.Routes[0].HeaderTimeout },
		"reply_timeout":   func(c *Config) *Duration { return &c.Routes[0].ReplyTimeout },
		"health.interval": func(c *Config) *Duration { return &c.Routes[0].Health.Interval },
		"health.timeout":  func(c *Config) *Duration { return &c.Routes[0].Health.Timeout },
	} {
		c := base()
		*of(c) = -1
		require.ErrorContains(t, c.Check(), name+" = -1ns: it is not negative")
	}
}

// An abstract name is no path: each byte of it counts.
func TestAnAbstractNameIsNoPath(t *testing.T) {
	c, err := Parse("[[route]]\nlisten = ['unix://@a//b', 'unix://@a/b']\nupstream = [{address = 'h:1'}]")
	require.NoError(t, err)
	require.NotEqual(t, c.Routes[0].Sockets()[0], c.Routes[0].Sockets()[1])
}
