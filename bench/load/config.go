package load

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Mark is what messages begin with whose handling is slow: those of the Slow connections, and one
// of so many as Marked says. No other byte of any message is one.
const Mark = 'B'

// A Config describes a run.
type Config struct {
	Addr   netip.AddrPort // of the server: IPv4, loopback
	Conns  int            // connections at a time, at least 1; of Packets sockets
	Size   int            // bytes of a message, at least 1; HTTP and Chunks have their own
	Depth  int            // messages in flight on each, in a closed loop; 0: 1
	Rate   float64        // messages per second, of all connections together, in an open loop; 0: a closed one
	Random bool           // in an open loop: at random times, by a Poisson process, and not at even intervals
	Spin   bool           // in an open loop: busy-poll on a CPU of its own while messages are due soon
	Slow   int            // of the connections: these are a closed loop, and their messages begin with Mark
	Marked int            // of Echo in an open loop: one of so many messages of the others, at random, begins with Mark; 0: none
	Origin int            // of Echo in an open loop, through a proxy: the descriptor of a socket that listens, to be the server behind it; 0: that is elsewhere
	TLS    bool           // of Echo, HTTP, Chunks and Idle: within TLS, whose certificate is not verified
	Warmup time.Duration  // of load before it measures
	For    time.Duration  // how long it measures
	PID    int            // the server's process, whose CPU time and memory Result tells; 0: none

	Request string // of HTTP, and of Idle: what each sends; "" of Idle: Size bytes
	Reply   string // of HTTP the body, of Idle all that must come back

	ReadRate int    // of SlowReaders: bytes per second that each takes
	Priority string // of the process: fifo, nice (-10) or none; "auto": the first that is allowed; "": none
}

// only refuses what a kind of load would not look at.
func (cfg Config) only(kind string) error {
	if cfg.Rate != 0 || cfg.TLS || cfg.Slow != 0 || cfg.Marked != 0 {
		return fmt.Errorf("load: %s has no rate, no TLS and no slow messages: %w", kind, errors.ErrUnsupported)
	}
	return nil
}

// A Result is what a run has measured.
type Result struct {
	Count   int64         `json:"count"` // messages that came back; of Churn connections. Not those that begin with Mark
	Bytes   int64         `json:"bytes"` // received
	Elapsed time.Duration `json:"elapsed_nanoseconds"`

	CPU      time.Duration `json:"server_cpu_nanoseconds"` // of all threads of the server's process, from its CPU clock
	User     time.Duration `json:"server_user_nanoseconds"`
	System   time.Duration `json:"server_system_nanoseconds"` // as the kernel's ticks saw it: the split is rough
	Resident int64         `json:"server_resident_bytes"`     // of the server's process at the end
	LoadCPU  time.Duration `json:"load_cpu_nanoseconds"`      // of the load's own process

	Latency Latencies       `json:"latency"`            // in an open loop from when a message was to be sent
	Late    Latencies       `json:"lateness"`           // of an open loop: of the sending, which is part of the above
	Passage Latencies       `json:"passage"`            // with an Origin: how long the proxy had each message, both ways together
	Slices  []time.Duration `json:"slices,omitempty"`   // of an open loop: p99 of the messages that were due in each Slice of the time
	Slow    int64           `json:"slow"`               // messages that begin with Mark and came back
	Lost    int64           `json:"lost"`               // datagrams
	Got     string          `json:"priority,omitempty"` // which priority the process has got
}
