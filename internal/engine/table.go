package engine

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/dumptext"
	"github.com/suiro-go/suiro/reactor"
)

// A Target receives the completions of one token.
type Target interface {
	// Deliver is called by the worker with that driver, which took the
	// completion, for one target and reactor by one worker at a time, perhaps
	// beside the target's task. It must not run a handler: completions are
	// collected first. Until the last completion of an operation is delivered,
	// the task knows the operation to be in flight, and does not end.
	Deliver(d *Driver, c *reactor.Completion)
}

// A Dumper is a Target that describes itself in a report (see dumptext).
type Dumper interface {
	// Dump adds lines. Any goroutine may call it. It must take locks only by the text's Lock.
	Dump(text *dumptext.Text)
}

// An Endpoint is what a token names.
type Endpoint struct {
	Token  reactor.Token
	FD     int
	Target Target
}

// A Table finds the endpoint of a token. Looking up takes no lock: a slot is
// one atomic pointer, and the endpoint says itself whether it is the one that
// was meant. The generation of a slot goes up with each endpoint, so a token
// never names a second one (until 2³² have passed through the same slot).
type Table struct {
	chunks [(reactor.MaxIndex + 1) / chunkSlots]atomic.Pointer[tableChunk]

	mu   sync.Mutex // guards the fields below, and the generations
	free []uint32   // slots given back, used before new ones
	used uint32     // slots that ever were in use
}

const chunkSlots = 4096

type tableChunk struct {
	endpoints   [chunkSlots]atomic.Pointer[Endpoint]
	generations [chunkSlots]uint32
}

// Add gives an endpoint its token. It panics with 16 million endpoints, which
// is more than there can be descriptors.
func (t *Table) Add(e *Endpoint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var i uint32
	if n := len(t.free); n > 0 {
		i, t.free = t.free[n-1], t.free[:n-1]
	} else {
		if i = t.used; i > reactor.MaxIndex {
			panic("conn: too many connections")
		}
		t.used++
	}
	chunk := t.chunks[i/chunkSlots].Load()
	if chunk == nil {
		chunk = new(tableChunk)
		t.chunks[i/chunkSlots].Store(chunk)
	}
	generation := &chunk.generations[i%chunkSlots]
	*generation++
	e.Token = reactor.MakeToken(i, *generation)
	chunk.endpoints[i%chunkSlots].Store(e)
}

// Remove ends the token's life. No operation may be in flight for it.
func (t *Table) Remove(e *Endpoint) {
	i := e.Token.Index()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chunks[i/chunkSlots].Load().endpoints[i%chunkSlots].Store(nil)
	t.free = append(t.free, i)
}

// Get is the endpoint of a token, or nil if it has gone.
func (t *Table) Get(token reactor.Token) *Endpoint {
	i := token.Index()
	chunk := t.chunks[i/chunkSlots].Load()
	if chunk == nil {
		return nil
	}
	e := chunk.endpoints[i%chunkSlots].Load()
	if e == nil || e.Token != token {
		return nil
	}
	return e
}

// All is every endpoint that is there throughout the call, and some of those that
// come or go meanwhile.
func (t *Table) All() iter.Seq[*Endpoint] {
	return func(yield func(*Endpoint) bool) {
		t.mu.Lock()
		used := t.used
		t.mu.Unlock()
		t.first(used)(yield)
	}
}

// AllNow is All for a report, which may fail to get the lock.
func (t *Table) AllNow(text *dumptext.Text) (all iter.Seq[*Endpoint], ok bool) {
	if !text.Lock(&t.mu) {
		return nil, false
	}
	defer t.mu.Unlock()
	return t.first(t.used), true
}

// first is the endpoints of the first slots.
func (t *Table) first(slots uint32) iter.Seq[*Endpoint] {
	return func(yield func(*Endpoint) bool) {
		for i := range slots {
			e := t.chunks[i/chunkSlots].Load().endpoints[i%chunkSlots].Load()
			if e != nil && !yield(e) {
				return
			}
		}
	}
}
