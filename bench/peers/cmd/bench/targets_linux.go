package main

// A target is what is wanted of Suiro: a ratio to that contender. It is the better of the two backends that counts.
type target struct {
	workload string
	against  string
	limit    float64 // at most; at least where more is better
	own      string  // whose it is: both contenders whose names begin so
	beside   string  // and whose ratio is told as well, or ""
}

const (
	handlers = "suiro/"
	likely   = "suiro-raw/" // like for like: the handler of the peers of HTTP, C's too, which do not parse either
	parsed   = "suiro-h1/"
	gathered = "suiro-coalesce/" // whose clients may wait for 100 µs when there are many
	each     = "suiro"
)

// reach are the targets that the README's promises are measured by, in the order of the first table.
var reach = []target{
	{"http-50", "c-uring", 1.05, likely, handlers},
	{"http-500", "c-uring", 1.05, likely, handlers},
	{"http-50", "gnet", 0.95, likely, handlers},
	{"http-500", "gnet", 0.95, likely, handlers},
	{"pipeline", "gnet-naive", 0.12, likely, handlers},
	{"pipeline", "gnet", 1, likely, handlers},
	{"echo64-5000", "gnet", 0.95, handlers, ""},
	{"skew-1", "net", 0.6, handlers, ""},
	{"skew-1", "gnet", 0.1, handlers, ""},
	{"udp", "net", 0.6, gathered, each},
	{"idle", "gnet", 0.8, handlers, ""},
	{"proxy-bulk", "haproxy", 1, handlers, ""},
	{"echo64-50", "tokio", 1, handlers, ""},
	{"echo64-500", "tokio", 1, handlers, ""},
	{"echo64-5000", "tokio", 1, handlers, ""},
	{"open", "net", 1, handlers, ""},
}

// further are those that are wanted beyond that.
var further = []target{
	{"echo16k-50", "gnet", 0.95, handlers, ""},
	{"echo16k-500", "gnet", 0.95, handlers, ""},
	{"stream", "net", 1.2, handlers, ""},
	{"stream-echo", "net", 1.2, handlers, ""},
	{"https", "net", 0.9, parsed, handlers},
	{"churn", "gnet", 0.9, gathered, each},
	{"http-idle", "net", 0.15, handlers, ""},
	{"proxy-echo", "haproxy", 1, handlers, ""},
	{"proxy-echo", "nginx", 1, handlers, ""},
	{"proxy-bulk", "nginx", 1, handlers, ""},
	{"proxy-open", "haproxy", 1, handlers, ""},
	{"proxy-open", "nginx", 1, handlers, ""},
}
