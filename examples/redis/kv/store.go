package kv

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"time"
)

// shards is the number of locks: as many as a word has bits.
const shards = 64

// A Store is keys and their values, in shards with a lock each. Its methods may be called from any
// goroutine or task: a lock is held for one command, and no holder of a lock waits.
type Store struct {
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu       sync.Mutex
	entries  map[string]*entry
	volatile int // entries with a time to live
	_        [64]byte
}

type entry struct {
	value   []byte
	expires int64 // Unix time in milliseconds; 0: never
}

// New makes an empty store.
func New() *Store {
	s := &Store{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].entries = map[string]*entry{}
	}
	return s
}

func (s *Store) indexOf(key []byte) int { return int(maphash.Bytes(s.seed, key) % shards) }

// lock locks the shards whose bits are set, always in the same order. So commands with several
// keys are atomic, and no two of them wait for each other.
func (s *Store) lock(set uint64) {
	for ; set != 0; set &= set - 1 {
		s.shards[bits.TrailingZeros64(set)].mu.Lock()
	}
}

func (s *Store) unlock(set uint64) {
	for ; set != 0; set &= set - 1 {
		s.shards[bits.TrailingZeros64(set)].mu.Unlock()
	}
}

// get is the entry of a key, or nil. It removes an expired entry.
func (sh *shard) get(key []byte) *entry {
	e := sh.entries[string(key)]
	if e != nil && e.expires != 0 && e.expires <= time.Now().UnixMilli() {
		sh.remove(key, e)
		return nil
	}
	return e
}

// put is the entry of a key, a new one if there is none.
func (sh *shard) put(key []byte) *entry {
	e := sh.get(key)
	if e == nil {
		e = new(entry)
		sh.entries[string(key)] = e
	}
	return e
}

func (sh *shard) remove(key []byte, e *entry) {
	sh.expire(e, 0)
	delete(sh.entries, string(key))
}

func (sh *shard) expire(e *entry, at int64) {
	if e.expires != 0 {
		sh.volatile--
	}
	if at != 0 {
		sh.volatile++
	}
	e.expires = at
}

// Sweep removes the expired entries of one shard. Other commands remove those that they find.
func (s *Store) Sweep(i int) {
	sh := &s.shards[i%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.volatile == 0 {
		return
	}
	now := time.Now().UnixMilli()
	for key, e := range sh.entries {
		if e.expires != 0 && e.expires <= now {
			sh.expire(e, 0)
			delete(sh.entries, key)
		}
	}
}

// Len is the number of entries. It includes expired ones that have not been removed yet.
func (s *Store) Len() (n int) {
	s.lock(math.MaxUint64)
	defer s.unlock(math.MaxUint64)
	for i := range s.shards {
		n += len(s.shards[i].entries)
	}
	return n
}
