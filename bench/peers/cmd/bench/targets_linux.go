package main

import "github.com/suiro-go/suiro/bench/load"

// A target is a goal for Suiro: a ratio to that contender. The better of the two backends counts.
type target struct {
	workload string
	against  string  // "": nobody, it is the value itself
	limit    float64 // at most; at least where more is better
	own      string  // whose it is: both contenders whose names begin so
	beside   string  // and whose ratio is told as well, or ""
	aspect   *aspect // nil: the workload's figure
}

// An aspect is what else a run came to.
type aspect struct {
	unit string
	of   func(sample) float64
	more bool // the higher, the better
}

var (
	middle    = &aspect{unit: "µs p50, from the intended start", of: func(s sample) float64 { return micros(s.Outcome.Latency.P50) }}
	tail      = &aspect{unit: "µs p99.9, from the intended start", of: func(s sample) float64 { return micros(s.Outcome.Latency.P999) }}
	slowOnes  = &aspect{unit: "slow messages per second", of: func(s sample) float64 { return float64(s.Outcome.Slow) / s.Outcome.Elapsed.Seconds() }, more: true}
	overQuiet = &aspect{unit: "p99 ÷ p99 of the same server while nothing blocks", of: func(s sample) float64 {
		return micros(s.Outcome.Latency.P99) / max(1e-9, micros(quietOf(s).P99))
	}}
)

// quietOf is the latencies of the same server while nothing blocks; zero if not measured.
func quietOf(s sample) load.Latencies {
	if s.Outcome.Quiet == nil {
		return load.Latencies{}
	}
	return *s.Outcome.Quiet
}

const (
	handlers = "suiro/"
	likely   = "suiro-raw/" // like for like: the handler of the peers of HTTP, C's too, which do not parse either
	parsed   = "suiro-h1/"
	inOrder  = "suiro-sequential/"
	gathered = "suiro-coalesce/" // whose clients may wait for 100 µs when there are many
	each     = "suiro"
)

// reach are the targets that the README's promises are measured by, in the order of the first
// table.
var reach = []target{
	{"http-50", "c-uring", 1.05, likely, handlers, nil},
	{"http-500", "c-uring", 1.05, likely, handlers, nil},
	{"http-50", "gnet", 0.95, likely, handlers, nil},
	{"http-500", "gnet", 0.95, likely, handlers, nil},
	{"pipeline", "gnet-naive", 0.12, likely, handlers, nil},
	{"pipeline", "gnet", 1, likely, handlers, nil},
	{"echo64-5000", "gnet", 0.95, handlers, "", nil},
	{"skew-1", "net", 0.6, handlers, "", nil},
	{"skew-1", "gnet", 0.1, handlers, "", nil},
	{"udp", "net", 0.6, gathered, each, nil},
	{"idle", "gnet", 0.8, handlers, "", nil},
	{"proxy-bulk", "haproxy", 1, handlers, "", nil},
	{"echo64-50", "tokio", 1, handlers, "", nil},
	{"echo64-500", "tokio", 1, handlers, "", nil},
	{"echo64-5000", "tokio", 1, handlers, "", nil},
	{"open", "net", 1, handlers, "", nil},
}

// further are those that are wanted beyond that.
var further = []target{
	{"echo16k-50", "gnet", 0.95, handlers, "", nil},
	{"echo16k-500", "gnet", 0.95, handlers, "", nil},
	{"stream", "net", 1.2, handlers, "", nil},
	{"stream-echo", "net", 1.2, handlers, "", nil},
	{"https", "net", 0.9, parsed, handlers, nil},
	{"churn", "gnet", 0.9, gathered, each, nil},
	{"http-idle", "net", 0.15, handlers, "", nil},
	{"redis-1", "gnet", 0.95, inOrder, handlers, nil},
	{"redis-64", "gnet", 0.9, inOrder, handlers, nil},
	{"proxy-echo", "haproxy", 1, handlers, "", nil},
	{"proxy-echo", "nginx", 1, handlers, "", nil},
	{"proxy-bulk", "nginx", 1, handlers, "", nil},
	{"proxy-open", "haproxy", 1, handlers, "", nil},
	{"proxy-open", "nginx", 1, handlers, "", nil},
}

// neverStuck are those beside handlers that burn or block: of the other connections, and of the
// slow ones' throughput.
var neverStuck = []target{
	{"skew-8", "net", 0.15, handlers, "", middle},
	{"skew-8", "net", 0.25, inOrder, "", middle},
	{"skew-8", "net", 0.5, handlers, "", nil},
	{"skew-8", "net", 0.5, inOrder, "", nil},
	{"skew-8", "net", 0.9, handlers, "", slowOnes},
	{"skew-8", "net", 0.9, inOrder, "", slowOnes},
	{"skew-1", "net", 0.5, handlers, "", nil},
	{"skew-1", "net", 0.5, inOrder, "", nil},
	{"skew-1", "", 5000, handlers, "", tail},
	{"skew-1", "", 5000, inOrder, "", tail},
	{"block-1", "", 2, handlers, "", overQuiet},
	{"block-1", "", 2, inOrder, "", overQuiet},
	{"block-all", "", 5000, handlers, "", nil},
	{"block-all", "", 5000, inOrder, "", nil},
}
