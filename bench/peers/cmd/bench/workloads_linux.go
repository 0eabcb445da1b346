package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

// A workload is a way to use a server, and the figure that it is measured by.
type workload struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Kind  string `json:"kind"` // of load
	Conns int    `json:"connections"`
	Size  int    `json:"size,omitempty"`
	Depth int    `json:"depth,omitempty"` // messages in flight on each connection; 0: 1
	Slow  int    `json:"slow,omitempty"`  // connections whose handlers burn CPU or block

	Marked   int     `json:"marked,omitempty"`   // or one of so many messages of all connections does so
	Rate     float64 `json:"rate,omitempty"`     // messages per second, in an open loop
	Capacity float64 `json:"capacity,omitempty"` // or as this share of what package net can do

	both   bool // the servers have two workers or event loops on two CPUs
	random bool // in an open loop: at random times
	calm   bool // only the server is to be in the latency
	long   bool // the measured event is rare
	few    bool // there are few messages a second
	quiet  bool // each server is measured without marked messages first
	more   bool // the higher the figure, the better
	figure func(outcome) float64
	peers  []string // measured unless others are asked for
	bases  []string // ratios are taken to these
}

// An outcome is what one run came to.
type outcome struct {
	load.Result
	Growth int64           `json:"growth_bytes,omitempty"` // of the server's memory, by its connections
	Quiet  *load.Latencies `json:"quiet,omitempty"`        // of the same server, without marked messages
}

func cpuEach(o outcome) float64 { return float64(o.CPU.Nanoseconds()) / 1e3 / float64(o.Count) }

func memoryEach(o outcome) float64 { return float64(o.Growth) / float64(o.Count) }

func mebibytes(o outcome) float64 { return float64(o.Bytes) / (1 << 20) / o.CPU.Seconds() }

// middleP99 is the median of the 99th percentiles of a run's slices. Events in less than half of
// the slices, such as the host taking the CPU away, do not change it. The tables have the figure of
// all messages beside it.
func middleP99(o outcome) float64 {
	if len(o.Slices) == 0 { // the run was shorter than one
		return p99Micros(o)
	}
	return middleOf(o.Slices)
}

// middleOf is the median, in µs; 0 of none.
func middleOf(ds []time.Duration) float64 {
	if len(ds) == 0 {
		return 0
	}
	xs := make([]float64, len(ds))
	for i, d := range ds {
		xs[i] = micros(d)
	}
	return spreadOf(xs).median
}

// blocks reports whether handlers block: for how long stands behind the colon.
func (w workload) blocks() bool { return strings.HasPrefix(w.Kind, "block:") }

// lingers reports whether the servers have two workers or event loops on two CPUs, as where
// handlers are slow.
func (w workload) lingers() bool { return w.Kind == "burn" || w.blocks() || w.both }

func p99Micros(o outcome) float64 { return float64(o.Latency.P99.Nanoseconds()) / 1e3 }

const (
	perRequest = "µs of CPU per request"
	perCommand = "µs of CPU per command"
	perMessage = "µs of CPU per message"
	perConn    = "B of server RSS each"
	p99        = "µs p99, from the intended start"
	sliceP99   = "µs p99 in the middle 100 ms, from the intended start"
	perSecond  = "MiB per CPU second"
)

// isProxy reports whether there is a server behind the measured one.
func isProxy(w workload) bool { return strings.HasPrefix(w.Kind, proxy+":") }

// memory reports whether that is what a workload measures.
func (w workload) memory() bool { return w.Unit == perConn }

// rounds are fewer for memory, which makes less noise than time, and more for latencies, which make
// more.
func (w workload) rounds(n int) int {
	switch {
	case w.memory():
		return min(n, 2)
	case w.calm:
		return n + 2
	}
	return n
}

// seconds are what a run measures: of latencies more, so that one stall is not the 99th percentile,
// and where something comes seldom.
func (w workload) seconds(s float64) float64 {
	switch {
	case w.calm:
		return 3 * s
	case w.long:
		return 5 * s
	}
	return s
}

// burnFor is how long a slow handler computes.
const burnFor = "20ms"

var (
	two     = []string{"suiro/io_uring", "suiro/epoll"}
	few     = append(slices.Clone(two), "gnet", "net")
	loops   = append(slices.Clone(two), "gnet", "netpoll", "nbio", "evio", "net")
	webs    = append(slices.Clone(two), "suiro-raw/io_uring", "suiro-raw/epoll", "c-uring", "c-epoll", "gnet", "netpoll", "nbio", "evio", "fasthttp", "nethttp", "suirohttp", "net", "nginx", "haproxy")
	stuck   = append(slices.Clone(two), "suiro-sequential/io_uring", "suiro-sequential/epoll", "gnet", "net", "tokio")
	proxies = append(slices.Clone(two), "haproxy", "nginx")
)

// trickle is a server with few messages a second. The CPU time of each is that of a wake-up.
func trickle(perSecond int, both bool) workload {
	w := workload{Name: fmt.Sprintf("trickle-%d", perSecond), Title: fmt.Sprintf("Echo of 64 B, 10 connections, %d messages a second", perSecond),
		Unit: perMessage, Kind: "echo", Conns: 10, Size: 64, Rate: float64(perSecond), both: both, long: true, few: true,
		figure: cpuEach, peers: few, bases: []string{"gnet", "net"}}
	if both {
		w.Name, w.Title = w.Name+"-two", w.Title+", two workers on two CPUs"
	}
	return w
}

// workloads are all there are, in the order of a round.
var workloads = []workload{
	{Name: "http-50", Title: "HTTP plaintext, 50 connections", Unit: perRequest, Kind: plaintext, Conns: 50, figure: cpuEach,
		peers: webs, bases: []string{"c-uring", "gnet", "net"}},
	{Name: "http-500", Title: "HTTP plaintext, 500 connections", Unit: perRequest, Kind: plaintext, Conns: 500, figure: cpuEach,
		peers: webs, bases: []string{"c-uring", "gnet", "net"}},
	{Name: "pipeline", Title: "HTTP plaintext, 50 connections, 16-deep pipelines", Unit: perRequest, Kind: plaintext, Conns: 50, Depth: 16,
		figure: cpuEach, peers: append(slices.Clone(webs), "gnet-naive"), bases: []string{"c-uring", "gnet", "gnet-naive", "net"}},
	{Name: "echo64-50", Title: "Echo of 64 B, 50 connections", Unit: perMessage, Kind: "echo", Conns: 50, Size: 64, figure: cpuEach,
		peers: append(slices.Clone(loops), "tokio"), bases: []string{"tokio", "gnet", "net"}},
	{Name: "echo64-500", Title: "Echo of 64 B, 500 connections", Unit: perMessage, Kind: "echo", Conns: 500, Size: 64, figure: cpuEach,
		peers: append(slices.Clone(few), "tokio"), bases: []string{"tokio", "gnet", "net"}},
	{Name: "echo64-5000", Title: "Echo of 64 B, 5,000 connections", Unit: perMessage, Kind: "echo", Conns: 5000, Size: 64, figure: cpuEach,
		peers: append(slices.Clone(loops), "tokio"), bases: []string{"tokio", "gnet", "net"}},
	trickle(100, false), trickle(300, false), trickle(1000, false), trickle(3000, false),
	trickle(100, true), trickle(300, true), trickle(1000, true), trickle(3000, true),
	{Name: "echo16k-50", Title: "Echo of 16 KiB, 50 connections", Unit: perMessage, Kind: "echo", Conns: 50, Size: 16 << 10, figure: cpuEach,
		peers: few, bases: []string{"gnet", "net"}},
	{Name: "echo16k-500", Title: "Echo of 16 KiB, 500 connections", Unit: perMessage, Kind: "echo", Conns: 500, Size: 16 << 10, figure: cpuEach,
		peers: few, bases: []string{"gnet", "net"}},
	{Name: "stream", Title: "Chunks of 1 MiB sent on request, 4 connections", Unit: perSecond, Kind: "chunks", Conns: 4, more: true,
		figure: mebibytes, peers: few, bases: []string{"gnet", "net"}},
	{Name: "stream-echo", Title: "Echo of 1 MiB, 4 connections", Unit: perSecond, Kind: "echo", Conns: 4, Size: 1 << 20, more: true,
		figure: mebibytes, peers: few, bases: []string{"gnet", "net"}},
	{Name: "redis-1", Title: "Redis' SET and GET of 64 B by turns, 50 connections", Unit: perCommand, Kind: "redis", Conns: 50, Size: 64, figure: cpuEach,
		peers: withKeys, bases: []string{"gnet", "net"}},
	{Name: "redis-64", Title: "Redis' SET and GET of 64 B by turns, 50 connections, 64-deep pipelines", Unit: perCommand, Kind: "redis", Conns: 50, Size: 64, Depth: 64, figure: cpuEach,
		peers: withKeys, bases: []string{"gnet", "net"}},
	{Name: "proxy-echo", Title: "Echo of 64 B through a proxy, 50 connections", Unit: perMessage, Kind: proxy + ":echo", Conns: 50, Size: 64,
		figure: cpuEach, peers: proxies, bases: []string{"haproxy", "nginx"}},
	{Name: "proxy-bulk", Title: "Chunks of 1 MiB through a proxy, 4 connections", Unit: perSecond, Kind: proxy + ":chunks", Conns: 4, more: true,
		figure: mebibytes, peers: proxies, bases: []string{"haproxy", "nginx"}},
	{Name: "proxy-open", Title: "Echo of 64 B through a proxy, 5,000 connections, open loop of 10,000 a second at random times", Unit: sliceP99, Kind: proxy + ":echo", Conns: 5000,
		Size: 64, Rate: 10000, random: true, calm: true, figure: middleP99, peers: proxies, bases: []string{"haproxy", "nginx"}},
	{Name: "udp", Title: "UDP echo of 64 B, 8 sockets with 24 in flight each", Unit: "µs of CPU per datagram", Kind: "udp", Conns: 8, Size: 64,
		Depth: 24, figure: cpuEach, peers: append(slices.Clone(two), "suiro-coalesce/epoll", "net"), bases: []string{"net"}},
	{Name: "tls", Title: "TLS echo of 64 B, 50 connections", Unit: perMessage, Kind: "tls", Conns: 50, Size: 64, figure: cpuEach,
		peers: append(slices.Clone(two), "net"), bases: []string{"net"}},
	{Name: "https", Title: "HTTP within TLS, 500 connections; net is net/http", Unit: perRequest, Kind: "https", Conns: 500, figure: cpuEach,
		peers: withTLS, bases: []string{"net"}},
	{Name: "churn", Title: "Connect, echo 64 B, close; 64 at a time", Unit: "µs of CPU each", Kind: "churn", Conns: 64, Size: 64, figure: cpuEach,
		peers: append(slices.Clone(few), "suiro-defer/io_uring", "suiro-defer/epoll", "suiro-coalesce/epoll"), bases: []string{"gnet", "net"}},
	{Name: "idle", Title: "Idle connections that have spoken once", Unit: perConn, Kind: "idle", Size: 64, figure: memoryEach,
		peers: append(slices.Clone(loops), "tokio"), bases: []string{"gnet", "net"}},
	{Name: "http-idle", Title: "Idle connections of HTTP that have had one answer; net is net/http", Unit: perConn, Kind: "http", Size: 64,
		figure: memoryEach, peers: append(slices.Clone(two), "net"), bases: []string{"net"}},
	{Name: "https-idle", Title: "Idle connections of HTTP within TLS that have had one answer; net is net/http", Unit: perConn, Kind: "https-idle", Conns: 1000, Size: 64,
		figure: memoryEach, peers: withTLS, bases: []string{"net"}},
	{Name: "slow-readers", Title: "500 readers of 1 MiB that take 64 KiB a second", Unit: perConn, Kind: "slow-readers", Conns: 500,
		figure: memoryEach, peers: few, bases: []string{"gnet", "net"}},
	{Name: "skew-1", Title: "Echo of 64 B beside 1 of 100 connections whose handler burns 20 ms", Unit: p99,
		Kind: "burn", Conns: 100, Size: 64, Slow: 1, Rate: 99 * 100, figure: p99Micros, peers: stuck, bases: []string{"net", "gnet", "tokio"}},
	{Name: "skew-8", Title: "Echo of 64 B beside 8 of 100 connections whose handlers burn 20 ms", Unit: p99, Kind: "burn", Conns: 100, Size: 64, Slow: 8, Rate: 92 * 100, figure: p99Micros,
		peers: stuck, bases: []string{"net", "gnet", "tokio"}},
	{Name: "block-1", Title: "Echo of 64 B, 200 connections; the handler of 1 % of the messages sleeps for 50 ms", Unit: p99, Kind: "block:50ms", Conns: 200, Size: 64,
		Marked: 100, Rate: 200 * 10, long: true, quiet: true, figure: p99Micros, peers: stuck, bases: []string{"net", "gnet", "tokio"}},
	{Name: "block-all", Title: "Echo of 64 B beside 2 of 100 connections whose handlers sleep for a second, as many as there are workers", Unit: p99, Kind: "block:1000ms",
		Conns: 100, Size: 64, Slow: 2, Rate: 98 * 100, long: true, figure: p99Micros, peers: stuck, bases: []string{"net", "gnet", "tokio"}},
	{Name: "open", Title: "Echo of 64 B, 100 connections, open loop at half of net's capacity", Unit: sliceP99, Kind: "echo", Conns: 100,
		Size: 64, Capacity: 0.5, calm: true, figure: middleP99, peers: append(slices.Clone(few), "tokio"), bases: []string{"net", "gnet"}},
}

func workloadNames() (names []string) {
	for _, w := range workloads {
		names = append(names, w.Name)
	}
	return names
}

// chooseWorkloads returns the workloads whose names begin with one of names, or all of them if
// there are no names. Other numbers may follow a name, as in echo64-50:conns=2000:size=128.
func chooseWorkloads(names []string) (chosen []workload, err error) {
	if len(names) == 0 || slices.Equal(names, []string{"all"}) {
		return workloads, nil
	}
	for _, asked := range names {
		name, changes, changed := strings.Cut(asked, ":")
		known := false
		for _, w := range workloads {
			if w.Name != name && !strings.HasPrefix(w.Name, name+"-") {
				continue
			}
			known = true
			if changed {
				if w, err = w.with(changes); err != nil {
					return nil, err
				}
			}
			if !slices.ContainsFunc(chosen, func(c workload) bool { return c.Name == w.Name }) {
				chosen = append(chosen, w)
			}
		}
		if !known {
			return nil, fmt.Errorf("there is no workload %q; there are %s", name, strings.Join(workloadNames(), " "))
		}
	}
	return chosen, nil
}

// with is the workload with other numbers. There are no targets for it, as they are by name.
func (w workload) with(changes string) (workload, error) {
	for _, change := range strings.Split(changes, ":") {
		key, value, _ := strings.Cut(change, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return w, fmt.Errorf("%s: %q is no number", w.Name, change)
		}
		number := map[string]*int{"conns": &w.Conns, "size": &w.Size, "depth": &w.Depth, "slow": &w.Slow, "marked": &w.Marked}[key]
		switch {
		case number != nil:
			*number = n
		case key == "rate":
			w.Rate, w.Capacity = float64(n), 0
		default:
			return w, fmt.Errorf("%s: %q; change conns, size, depth, slow, marked or rate", w.Name, change)
		}
	}
	w.Name, w.Title = w.Name+":"+changes, w.Title+", but "+strings.ReplaceAll(changes, ":", ", ")
	return w, nil
}

// contendersOf are the names that are measured with a workload: those asked for that can serve it.
func contendersOf(cfg config, w workload) (names []string) {
	wanted := cfg.Names
	if len(wanted) == 0 {
		wanted = w.peers
	}
	for _, name := range wanted {
		if _, ok := find(name, w.Kind); ok {
			names = append(names, name)
		}
	}
	return names
}

// basesOf are the contenders that ratios are taken to.
func basesOf(cfg config, w workload) (bases []string) {
	names := contendersOf(cfg, w)
	for _, b := range w.bases {
		if slices.Contains(names, b) {
			bases = append(bases, b)
		}
	}
	if len(names) > 0 && strings.Contains(strings.Join(names, " "), "@") { // another build is what it is about
		for _, name := range names {
			if _, build := split(name); build != "" {
				bases = append(bases, name)
			}
		}
	}
	return bases
}
