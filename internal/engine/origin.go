package engine

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/owned"
)

// An Origin has the figures of the connections that one listening address has accepted, of all
// dialed connections, or of the packet sockets of one address. They are kept when the listener is
// closed.
//
// Each worker writes its own part, and only there. Figures that other goroutines change have atomic
// words, which all of them add to.
type Origin struct {
	Key    OriginKey
	number uint16 // see Origins; never 0
	parts  []atomic.Pointer[OriginPart]
	users  int // sockets that accept for it; guarded by Origins.mu

	// Any goroutine adds to these.
	Outside OutsidePart

	mu   sync.Mutex // guards last
	last [totals]uint64
}

// Listener is "network address" of the listener; "" of dials, and of nil.
func (o *Origin) Listener() string {
	switch {
	case o == nil || o.Key.Network == "":
		return ""
	case o.Key.Port == "":
		return o.Key.Network + " " + o.Key.Address
	}
	return o.Key.Network + " " + net.JoinHostPort(o.Key.Address, o.Key.Port)
}

// An OriginKey tells origins apart.
type OriginKey struct {
	Kind    OriginKind
	Network string // tcp, udp or unix; "" of dials
	Address string // host or path
	Port    string
}

// An OriginKind is where connections come from.
type OriginKind uint8

// The kinds.
const (
	Accepted OriginKind = iota
	Dialed
	Datagrams
)

// A Refusal is a reason why an accepted connection was closed at once.
type Refusal uint8

// The reasons, with their names.
const (
	OverMaxConns Refusal = iota
	OverMaxPerSource
	ListenerClosed
	refusals
)

// RefusalNames are the values of the label for reasons.
var RefusalNames = [refusals]string{"max_conns", "max_per_source", "listener_closed"}

// A Drop is a reason why a datagram was not sent or received.
type Drop uint8

// The reasons, with their names. The kernel's own drops are read from the sockets.
const (
	QueueFull Drop = iota
	SendFailed
	SocketClosed
	drops
)

// DropNames are the values of the label for reasons.
var DropNames = [drops]string{"queue_full", "send_failed", "socket_closed"}

// An OriginPart is what one worker writes.
type OriginPart struct {
	Begun, Ended    owned.Counter // connections
	Received, Sent  owned.Counter // bytes of connections that have ended, or of datagrams
	AcceptErrors    owned.Counter
	Refused         [refusals]owned.Counter
	In, Out         owned.Counter // datagrams
	Dropped         [drops]owned.Counter
	Shaking, Shaken owned.Counter  // TLS handshakes that have begun, and that have ended
	Lives           [endings]lazy  // durations of connections, in microseconds
	Shakes          [failures]lazy // durations of handshakes, in microseconds
	_               [128]byte      // the next part belongs to another worker
}

// An OutsidePart is what goroutines other than workers add to.
type OutsidePart struct {
	Begun, Ended   atomic.Uint64 // connections
	Received, Sent atomic.Uint64 // bytes of datagrams
	In, Out        atomic.Uint64 // datagrams
	Dropped        [drops]atomic.Uint64
}

// A lazy is a histogram that its owner makes when it is first needed.
type lazy struct {
	h atomic.Pointer[owned.Histogram]
}

func (l *lazy) record(v uint64) {
	h := l.h.Load()
	if h == nil {
		h = new(owned.Histogram)
		l.h.Store(h)
	}
	h.Record(v, 1)
}

// Number is the number by which Origins.Numbered finds the origin; 0 of nil.
func (o *Origin) Number() uint16 {
	if o == nil {
		return 0
	}
	return o.number
}

// Part is the part of the worker with that index, on whose goroutine the caller is.
func (o *Origin) Part(worker int) *OriginPart {
	p := o.parts[worker].Load()
	if p == nil {
		p = new(OriginPart)
		o.parts[worker].Store(p)
	}
	return p
}

// Lived records how long a connection was there, and how it ended.
func (p *OriginPart) Lived(d time.Duration, e Ending) { p.Lives[e].record(microseconds(d)) }

// Shook records how long a handshake took, and how it ended.
func (p *OriginPart) Shook(d time.Duration, f Failure) {
	p.Shaken.Add(1)
	p.Shakes[f].record(microseconds(d))
}

func microseconds(d time.Duration) uint64 { return uint64(max(0, d.Microseconds())) }

// Sum adds up a counter of all parts.
func (o *Origin) Sum(of func(*OriginPart) *owned.Counter) (n uint64) {
	for i := range o.parts {
		if p := o.parts[i].Load(); p != nil {
			n += of(p).Load()
		}
	}
	return n
}

// LifeSum adds up the durations of connections that ended so.
func (o *Origin) LifeSum(e Ending) *owned.Sum {
	return o.histogram(func(p *OriginPart) *lazy { return &p.Lives[e] })
}

// ShakeSum adds up the durations of handshakes that ended so.
func (o *Origin) ShakeSum(f Failure) *owned.Sum {
	return o.histogram(func(p *OriginPart) *lazy { return &p.Shakes[f] })
}

func (o *Origin) histogram(of func(*OriginPart) *lazy) *owned.Sum {
	s := new(owned.Sum)
	for i := range o.parts {
		if p := o.parts[i].Load(); p != nil {
			s.Add(of(p).h.Load())
		}
	}
	return s
}

// Active is the number of connections. Those that end meanwhile count.
func (o *Origin) Active() int {
	ended := o.Sum(func(p *OriginPart) *owned.Counter { return &p.Ended }) + o.Outside.Ended.Load()
	return int(o.Begun() - ended)
}

// Begun is the number of connections that there were.
func (o *Origin) Begun() uint64 {
	return o.Sum(func(p *OriginPart) *owned.Counter { return &p.Begun }) + o.Outside.Begun.Load()
}

// A Total names a figure of Grown.
type Total uint8

// The totals that are summed over live connections and sockets.
const (
	TotalReceived Total = iota
	TotalSent
	totals
)

// Grown is n, or the largest value that Grown has returned for this total if that is more. It is
// for sums over connections: one that ends while they are added up may be missing in the sum.
func (o *Origin) Grown(t Total, n uint64) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last[t] = max(o.last[t], n)
	return o.last[t]
}

// Origins are the origins of a group. Each has a number, by which a connection names it in two
// bytes.
type Origins struct {
	mu       sync.Mutex
	all      []*Origin
	free     []uint16                                 // numbers of dropped origins
	numbered atomic.Pointer[[]atomic.Pointer[Origin]] // by number; a full one is replaced by a copy, under mu
}

const (
	keepOrigins = 256         // the number of origins from which on unused ones are dropped
	mostOrigins = 1<<16 - 256 // the number from which on all further addresses share one origin of their kind
)

// Numbered is the origin with that number while it has connections; nil of 0.
func (s *Origins) Numbered(n uint16) *Origin {
	if n == 0 {
		return nil
	}
	return (*s.numbered.Load())[n].Load()
}

// Use returns the origin with that key, for a socket that is about to accept or receive. workers is
// their number with spares. Unuse follows.
func (s *Origins) Use(key OriginKey, workers int) *Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.find(key); o != nil {
		return o
	}
	if len(s.all) >= keepOrigins {
		s.all = slices.DeleteFunc(s.all, s.drops)
	}
	if len(s.all) >= mostOrigins {
		key = OriginKey{Kind: key.Kind, Network: key.Network}
		if o := s.find(key); o != nil {
			return o
		}
	}
	o := &Origin{Key: key, parts: make([]atomic.Pointer[OriginPart], workers), users: 1}
	s.all = append(s.all, o)
	s.number(o)
	return o
}

// find returns the origin with that key for one more user. The lock is held.
func (s *Origins) find(key OriginKey) *Origin {
	for _, o := range s.all {
		if o.Key == key {
			o.users++
			return o
		}
	}
	return nil
}

// drops reports whether nobody needs an origin, and takes its number back. The lock is held.
func (s *Origins) drops(o *Origin) bool {
	if o.users > 0 || o.Active() > 0 {
		return false
	}
	s.free = append(s.free, o.number)
	return true
}

// number gives a new origin a number that no other has. It is the last of all. The lock is held.
func (s *Origins) number(o *Origin) {
	if n := len(s.free); n > 0 {
		o.number, s.free = s.free[n-1], s.free[:n-1]
	} else {
		o.number = uint16(len(s.all))
	}
	numbered := s.numbered.Load()
	if numbered == nil || int(o.number) >= len(*numbered) {
		larger := make([]atomic.Pointer[Origin], max(8, 2*int(o.number)))
		if numbered != nil {
			for i := range *numbered {
				larger[i].Store((*numbered)[i].Load())
			}
		}
		numbered = &larger
		s.numbered.Store(numbered)
	}
	(*numbered)[o.number].Store(o)
}

// Unuse is for a socket that has closed.
func (s *Origins) Unuse(o *Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.users--
}

// All lists the origins, in the order of their first use.
func (s *Origins) All() []*Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// KeyOf is the key of a socket's address.
func KeyOf(kind OriginKind, addr net.Addr) OriginKey {
	switch a := addr.(type) {
	case *net.TCPAddr:
		return OriginKey{kind, "tcp", hostOf(a.IP, a.Zone), strconv.Itoa(a.Port)}
	case *net.UDPAddr:
		return OriginKey{kind, "udp", hostOf(a.IP, a.Zone), strconv.Itoa(a.Port)}
	case *net.UnixAddr:
		return OriginKey{Kind: kind, Network: "unix", Address: a.Name}
	}
	return OriginKey{Kind: kind, Network: addr.Network(), Address: addr.String()}
}

func hostOf(ip net.IP, zone string) string {
	if ip == nil {
		return "::"
	}
	host := ip.String()
	if zone != "" {
		host += "%" + zone
	}
	return host
}
