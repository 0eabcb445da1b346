// Package limit bounds what clients may have, from the moment when their connections are accepted.
package limit

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// A Door counts clients' connections, from accept to close. A connection counts before a route's
// own bytes, too, such as during a TLS handshake or a PROXY header. Its methods may be called from
// any goroutine. The zero value has no bounds.
type Door struct {
	Budget Budget // each connection takes its descriptors from it

	bounds atomic.Pointer[Bounds]
	live   atomic.Int64

	mu      sync.Mutex
	sources map[netip.Addr]int // living connections of each; none is 0

	// Counts since the start.
	OverAll    atomic.Uint64 // connections refused beyond Bounds.Most
	OverSource atomic.Uint64 // connections refused beyond Bounds.PerSource
	Junk       atomic.Uint64 // connections that ended before they belonged to a route
}

// Bounds are how many connections there may be at a time; 0 is no bound.
type Bounds struct {
	Most      int64
	PerSource int
	Local     bool // PerSource is for loopback addresses too
}

// Set changes the bounds, for connections to come.
func (d *Door) Set(b Bounds) { d.bounds.Store(&b) }

// Live is the number of connections there are.
func (d *Door) Live() int64 { return d.live.Load() }

// Enter counts a connection. nil: it is one too many.
func (d *Door) Enter() *Entry {
	b := d.bounds.Load()
	if n := d.live.Add(1); b != nil && b.Most > 0 && n > b.Most {
		d.live.Add(-1)
		d.OverAll.Add(1)
		return nil
	}
	if !d.Budget.takeClient() {
		d.live.Add(-1)
		d.OverAll.Add(1)
		return nil
	}
	return &Entry{door: d}
}

// takeSource counts a connection of a source. It reports whether it may be. 0: there is no bound,
// but a later one counts the connection too.
func (d *Door) takeSource(key netip.Addr, most int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if most > 0 && d.sources[key] >= most {
		d.OverSource.Add(1)
		return false
	}
	if d.sources == nil {
		d.sources = map[netip.Addr]int{}
	}
	d.sources[key]++
	return true
}

func (d *Door) leaveSource(key netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sources[key]--; d.sources[key] == 0 {
		delete(d.sources, key)
	}
}

// An Entry is one connection that is counted. It belongs to the connection's task.
type Entry struct {
	door    *Door
	source  netip.Addr    // that it counts for; invalid: none
	waiting *atomic.Int64 // of its listener, which it counts for; nil: it has arrived
	arrived bool
}

// Identify counts the connection for the address of its client. It reports whether it may be.
func (e *Entry) Identify(client netip.Addr) bool {
	if !client.IsValid() {
		return true
	}
	most := 0
	if b := e.door.bounds.Load(); b != nil && (b.Local || !client.Unmap().IsLoopback()) {
		most = b.PerSource
	}
	key := Source(client)
	if !e.door.takeSource(key, most) {
		return false
	}
	if e.source.IsValid() {
		e.door.leaveSource(e.source)
	}
	e.source = key
	return true
}

// Wait counts the connection among those of a listener that have not arrived. It reports their
// number.
func (e *Entry) Wait(waiting *atomic.Int64) int64 {
	e.waiting = waiting
	return waiting.Add(1)
}

// Arrive notes that the connection belongs to a route, which counts it from now on.
func (e *Entry) Arrive() {
	e.arrived = true
	e.stopWaiting()
}

func (e *Entry) stopWaiting() {
	if e.waiting != nil {
		e.waiting.Add(-1)
		e.waiting = nil
	}
}

// Leave is the connection's end.
func (e *Entry) Leave() {
	e.stopWaiting()
	if e.source.IsValid() {
		e.door.leaveSource(e.source)
	}
	e.door.live.Add(-1)
	e.door.Budget.leaveClient()
	if !e.arrived {
		e.door.Junk.Add(1)
	}
}

// Source is the network by which clients are told apart: an IPv4 address, or the /64 of an IPv6
// address: one client may have all addresses of a /64.
func Source(client netip.Addr) netip.Addr {
	client = client.Unmap().WithZone("")
	if client.Is4() || !client.IsValid() {
		return client
	}
	p, _ := client.Prefix(64)
	return p.Addr()
}
