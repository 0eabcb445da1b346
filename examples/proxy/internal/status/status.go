// Package status shows how a proxy is: as metrics, as JSON, and by the console.
package status

import (
	"time"

	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
)

// A Snapshot is how a proxy is at a moment.
type Snapshot struct {
	Backend     string
	Workers     int
	Started     time.Time
	Listeners   []string
	Connections int   // of both sides
	Clients     int64 // of clients

	OverAll, OverSource uint64 // clients' connections that were refused beyond max_connections, and beyond max_per_source
	Junk                uint64 // clients' connections that ended before they belonged to a route

	Goroutines  int
	Descriptors int // 0: not known here
	Heap        uint64
	Routes      []Route
}

// A Route is one of them.
type Route struct {
	Name, Balance string
	Listen        []string
	Upstreams     []upstream.State

	Active                                                                          int64
	Accepted, Refused, Failed, Broken, Retried, Requests, Dropped, Evicted, In, Out uint64
}
