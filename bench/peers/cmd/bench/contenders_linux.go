package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A recipe is how a contender serves a kind of load.
type recipe struct {
	binary string   // its name among the builds
	args   []string // KIND, SIZE, CONF (a directory of its own) and ORIGIN stand for something
	ring   string   // "yes" or "no" if the process must or must not hold an io_uring
	obeys  bool     // it collects garbage when asked: command serve
	file   string   // a binary of another build
}

// A contender is a server.
type contender struct {
	name  string
	about string
	kinds map[string]recipe // by kind of load; "*": what command serve has
}

// serve is a contender of command serve.
func serve(name, ring string) recipe {
	return recipe{binary: "serve", args: []string{"serve", name, "KIND", "SIZE"}, ring: ring, obeys: true}
}

// peer is a server of HTTP of its own, from bench/peers/cmd.
func peer(name string) recipe {
	return recipe{binary: name, args: []string{"-addr", "127.0.0.1:0"}}
}

// inRust is Tokio's server.
var inRust = recipe{binary: "tokio", args: []string{"SIZE", "KIND"}}

func ours(backend, ring string) contender {
	example := recipe{binary: "http", args: []string{"-backend", backend, "-workers", "1", "-addr", "127.0.0.1:0"}, ring: ring}
	passes := recipe{binary: "proxy", ring: ring,
		args: []string{"-backend", backend, "-workers", "1", "-listen", "tcp://127.0.0.1:0", "-upstream", "tcp://ORIGIN", "-drain", "1s"}}
	return contender{"suiro/" + backend, "examples/http and examples/proxy; elsewhere as examples/echo", map[string]recipe{
		plaintext: example, proxy: passes, "*": serve("suiro/"+backend, ring)}}
}

// sequential is sequential handlers.
func sequential(backend, ring string) contender {
	example := recipe{binary: "redis", args: []string{"-backend", backend, "-workers", "1", "-addr", "127.0.0.1:0"}, ring: ring}
	name := "suiro-sequential/" + backend
	return contender{name, "sequential handlers; of Redis examples/redis", map[string]recipe{"redis": example, "*": serve(name, ring)}}
}

// buffered is sequential handlers that keep a buffer while they wait.
func buffered(backend, ring string) contender {
	name := "suiro-buffered/" + backend
	r := serve(name, ring)
	return contender{name, "sequential handlers with a buffer of 4 KiB for each connection", map[string]recipe{"echo": r, "idle": r}}
}

// busy is the proxy for latency: workers busy-poll before they wait.
func busy(backend, ring string) contender {
	r := ours(backend, ring).kinds[proxy]
	r.args = append(slices.Clone(r.args), "-busy-poll", "20us")
	return contender{"suiro-busy/" + backend, "examples/proxy -busy-poll 20us", map[string]recipe{proxy: r}}
}

// deferring is for clients that speak first: the kernel keeps connections until they have.
func deferring(backend, ring string) contender {
	name := "suiro-defer/" + backend
	return contender{name, "with DeferAccept", map[string]recipe{"churn": serve(name, ring)}}
}

// coalescing coalesces wake-ups of the worker.
func coalescing() contender {
	const name = "suiro-coalesce/epoll"
	r := serve(name, "no")
	return contender{name, "with Coalesce: 100 µs", map[string]recipe{"churn": r, "udp": r, "echo": r}}
}

func raw(backend, ring string) contender {
	r := recipe{binary: "suiro", args: []string{"-backend", backend, "-addr", "127.0.0.1:0"}, ring: ring}
	return contender{"suiro-raw/" + backend, "the raw peers' handler on Suiro, one Write per answer", map[string]recipe{plaintext: r}}
}

// webOnly is a contender of HTTP by command serve.
func webOnly(r recipe) map[string]recipe {
	return map[string]recipe{"http": r, "https": r, "https-idle": r}
}

// Kinds of load that servers of their own are for.
const (
	plaintext = "plaintext"
	proxy     = "proxy" // what stands behind the colon, through one
)

// contenders are all there are, in the order of a round and of the tables.
var contenders = []contender{
	ours("io_uring", "yes"),
	ours("epoll", "no"),
	sequential("io_uring", "yes"),
	sequential("epoll", "no"),
	buffered("io_uring", "yes"),
	buffered("epoll", "no"),
	{"suiro-h1/io_uring", "of HTTP within TLS: callbacks that parse as examples/http does", webOnly(serve("suiro-h1/io_uring", "yes"))},
	{"suiro-h1/epoll", "the same", webOnly(serve("suiro-h1/epoll", "no"))},
	busy("io_uring", "yes"),
	busy("epoll", "no"),
	deferring("io_uring", "yes"),
	deferring("epoll", "no"),
	coalescing(),
	raw("io_uring", "yes"),
	raw("epoll", "no"),
	{"c-uring", "C: raw io_uring, multishot accept and recv, provided buffers, coalesced sends", map[string]recipe{plaintext: peer("c-uring")}},
	{"c-epoll", "C: level-triggered, one read and one write per wake-up", map[string]recipe{plaintext: peer("c-epoll"),
		"echo": {binary: "c-echo"}, "churn": {binary: "c-echo"}, "idle": {binary: "c-echo"}, "chunks": {binary: "c-echo", args: []string{"-chunks"}}}},
	{"gnet", "event loops; of HTTP the answers to one read in one Write", map[string]recipe{
		plaintext: peer("gnet-coalesced"), "*": serve("gnet", "")}},
	{"gnet-naive", "gnet with one Write per answer", map[string]recipe{plaintext: peer("gnet-naive")}},
	{"gnet-et", "gnet, edge-triggered", map[string]recipe{"*": serve("gnet-et", "")}},
	{"netpoll", "one Flush per wake-up", map[string]recipe{plaintext: peer("netpoll"), "*": serve("netpoll", "")}},
	{"nbio", "OnData, level-triggered", map[string]recipe{plaintext: peer("nbio"), "*": serve("nbio", "")}},
	{"evio", "Data, shared input buffer", map[string]recipe{plaintext: peer("evio"), "*": serve("evio", "")}},
	{"fasthttp", "its server of HTTP", map[string]recipe{plaintext: peer("fasthttp")}},
	{"nethttp", "net/http", map[string]recipe{plaintext: peer("nethttp")}},
	{"suirohttp", "the same handler by server.HTTP, as many workers as a user gets", map[string]recipe{plaintext: peer("suirohttp")}},
	{"net", "a goroutine per connection on package net", map[string]recipe{plaintext: peer("net"), "*": serve("net", "")}},
	{"net-copy", "io.Copy, which splices", map[string]recipe{"*": serve("net-copy", "")}},
	{"tokio", "Tokio's multi-thread runtime, a task per connection", map[string]recipe{
		"echo": inRust, "burn": inRust, "block": inRust, "idle": inRust, "churn": inRust}},
	{"nginx", "return 200, one worker; as a proxy its stream module", map[string]recipe{
		plaintext: {binary: "nginx", args: []string{"-p", "CONF", "-c", "CONF/nginx.conf", "-e", "stderr"}},
		proxy:     {binary: "nginx", args: []string{"-p", "CONF", "-c", "CONF/nginx-stream.conf", "-e", "stderr"}}}},
	{"haproxy", "http-request return, one thread; as a proxy with splice-auto", map[string]recipe{
		plaintext: {binary: "haproxy", args: []string{"-db", "-q", "-f", "CONF/haproxy.conf"}},
		proxy:     {binary: "haproxy", args: []string{"-db", "-q", "-f", "CONF/haproxy-tcp.conf"}}}},
}

var withTLS = []string{"suiro/io_uring", "suiro/epoll", "suiro-h1/io_uring", "suiro-h1/epoll", "net"}

var withKeys = []string{"suiro-sequential/io_uring", "suiro-sequential/epoll", "suiro/io_uring", "suiro/epoll", "gnet", "net"}

// only are kinds that few contenders have.
var only = map[string][]string{
	"https":      withTLS,
	"https-idle": withTLS,
	"tls":        {"suiro/io_uring", "suiro/epoll", "suiro-sequential/io_uring", "suiro-sequential/epoll", "net"},
	"redis":      withKeys,
	"udp":        {"suiro/io_uring", "suiro/epoll", "suiro-coalesce/epoll", "net"},
}

func contenderNames() (names []string) {
	for _, c := range contenders {
		names = append(names, c.name)
	}
	return names
}

// split is a contender's name and the build it is from; "": this one.
func split(name string) (string, string) {
	name, build, _ := strings.Cut(name, "@")
	return name, build
}

// find is how a contender serves a kind; false: it cannot.
func find(name, kind string) (recipe, bool) {
	name, build := split(name)
	kind, _, _ = strings.Cut(kind, ":")
	i := slices.IndexFunc(contenders, func(c contender) bool { return c.name == name })
	if i < 0 || only[kind] != nil && !slices.Contains(only[kind], name) {
		return recipe{}, false
	}
	r, ok := contenders[i].kinds[kind]
	if !ok && kind != plaintext && kind != proxy {
		r, ok = contenders[i].kinds["*"]
	}
	if build != "" {
		r.file = build
		if info, err := os.Stat(build); err == nil && info.IsDir() {
			r.file = filepath.Join(build, r.binary)
		}
	}
	return r, ok
}

// chooseNames checks the requested names, and adds Suiro if there is none.
func chooseNames(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if slices.Equal(names, []string{"all"}) {
		return contenderNames(), nil
	}
	var chosen []string
	suiro := false
	for _, name := range names {
		plain, build := split(name)
		known := false
		for _, c := range contenders {
			if family, _, _ := strings.Cut(c.name, "/"); c.name == plain || family == plain {
				known = true
				if c.name += strings.Repeat("@"+build, min(len(build), 1)); !slices.Contains(chosen, c.name) {
					chosen = append(chosen, c.name)
				}
			}
		}
		if !known {
			return nil, fmt.Errorf("no contender is called %q; there are %s", name, strings.Join(contenderNames(), " "))
		}
		suiro = suiro || strings.HasPrefix(name, "suiro")
	}
	if !suiro {
		chosen = append([]string{"suiro/io_uring", "suiro/epoll"}, chosen...)
	}
	return chosen, nil
}
