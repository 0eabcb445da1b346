package load

import (
	"net/netip"
	"time"
)

// A Config describes a run.
type Config struct {
	Addr   netip.AddrPort // of the server: IPv4, loopback
	Conns  int            // connections at a time, at least 1
	Size   int            // bytes of a message, at least 1; Chunks has its own
	Depth  int            // messages in flight on each; 0: 1. For Echo and Chunks
	Warmup time.Duration  // of load before it measures
	For    time.Duration  // how long it measures
	PID    int            // the server's process, whose CPU time Result tells; 0: none

	// Of Idle and Echo: what each sends, and what must come back. "": Size bytes, and those.
	Request, Reply string

	TLS bool // of the same: connections speak TLS, with any server, and have shaken hands before anything is measured
}

// A Result is what a run has measured.
type Result struct {
	Count   int64         // messages that came back; of Churn connections
	Bytes   int64         // received
	Elapsed time.Duration // of the measurement
	CPU     time.Duration // that all threads of the server's process ran meanwhile, in user and kernel
}
