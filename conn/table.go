package conn

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/reactor"
)

// A target receives the completions of one token.
type target interface {
	// deliver is called by the worker with that driver, which took the
	// completion, for one target and reactor by one worker at a time, perhaps
	// beside the target's task. It must not run a handler: completions are
	// collected first. Until the last completion of an operation is delivered,
	// the task knows the operation to be in flight, and does not end.
	deliver(d *Driver, c *reactor.Completion)
}

// An endpoint is what a token names.
type endpoint struct {
	token  reactor.Token
	fd     int
	target target
}

// A table finds the endpoint of a token. Looking up takes no lock: a slot is
// one atomic pointer, and the endpoint says itself whether it is the one that
// was meant. The generation of a slot goes up with each endpoint, so a token
// never names a second one (until 2³² have passed through the same slot).
type table struct {
	chunks [(reactor.MaxIndex + 1) / chunkSlots]atomic.Pointer[tableChunk]

	mu   sync.Mutex // guards what follows, and the generations
	free []uint32   // slots given back, used before new ones
	used uint32     // slots that ever were in use
}

const chunkSlots = 4096

type tableChunk struct {
	endpoints   [chunkSlots]atomic.Pointer[endpoint]
	generations [chunkSlots]uint32
}

// add gives an endpoint its token. It panics with 16 million endpoints, which
// is more than there can be descriptors.
func (t *table) add(e *endpoint) {
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
	e.token = reactor.MakeToken(i, *generation)
	chunk.endpoints[i%chunkSlots].Store(e)
}

// remove ends the token's life. No operation may be in flight for it.
func (t *table) remove(e *endpoint) {
	i := e.token.Index()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chunks[i/chunkSlots].Load().endpoints[i%chunkSlots].Store(nil)
	t.free = append(t.free, i)
}

// get is the endpoint of a token, or nil if it has gone.
func (t *table) get(token reactor.Token) *endpoint {
	i := token.Index()
	chunk := t.chunks[i/chunkSlots].Load()
	if chunk == nil {
		return nil
	}
	e := chunk.endpoints[i%chunkSlots].Load()
	if e == nil || e.token != token {
		return nil
	}
	return e
}

// all is every endpoint that is there throughout the call, and some of those that
// come or go meanwhile.
func (t *table) all() iter.Seq[*endpoint] {
	return func(yield func(*endpoint) bool) {
		t.mu.Lock()
		used := t.used
		t.mu.Unlock()
		for i := range used {
			e := t.chunks[i/chunkSlots].Load().endpoints[i%chunkSlots].Load()
			if e != nil && !yield(e) {
				return
			}
		}
	}
}
