package flow

import (
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/reactor"
)

// An Input is the bytes received and not read. While a handler runs it is either an untouched
// chunk, of a reactor's memory or of the worker's Scratch, or the Input's own buffer. Bytes that a
// handler leaves move to the own buffer, since the other memory is needed for the next bytes. So it
// is always contiguous, and bytes are copied only when a handler could not use them yet.
//
// In calls, home is the reactor that owns the chunks' memory, to which they are released.
type Input struct {
	Unread []byte // lies in chunk or in own
	own    []byte // from the pool, or nil
	chunk  reactor.Buffer
	shared bool // the chunk is the worker's
}

// A Scratch is a worker's memory for bytes that its tasks receive themselves.
type Scratch struct{ room []byte }

// Room is that much of the memory, in bytes.
func (s *Scratch) Room(most int) []byte {
	if len(s.room) < most {
		s.room = make([]byte, most)
	}
	return s.room[:most]
}

// Empty reports whether the Input holds no memory.
func (in *Input) Empty() bool { return in.own == nil }

// Kept is the size of the own buffer's contents, in bytes.
func (in *Input) Kept() int { return len(in.own) }

// Attached reports whether the Input is a chunk.
func (in *Input) Attached() bool { return in.chunk.Bytes != nil }

// Attach adds a chunk behind the unread bytes.
func (in *Input) Attach(p *bufs.Pool, home reactor.Reactor, b reactor.Buffer) {
	if len(in.Unread) == 0 {
		in.Drop(p)
		in.chunk, in.Unread = b, b.Bytes
		return
	}
	in.keep(p, b.Bytes)
	home.Release(b)
}

// Detach ends the use of the chunk and keeps its unread bytes. If nothing was attached since the
// last Detach, it only gives back memory that is not needed, and home may be nil. home may be nil
// also for a chunk of the worker's memory.
func (in *Input) Detach(p *bufs.Pool, home reactor.Reactor) {
	switch {
	case in.chunk.Bytes != nil:
		b, rest, shared := in.chunk, in.Unread, in.shared
		in.chunk, in.Unread, in.shared = reactor.Buffer{}, nil, false
		if len(rest) > 0 {
			in.keep(p, rest)
		}
		if !shared {
			home.Release(b)
		}
	case len(in.Unread) == 0:
		in.Drop(p)
	}
}

// keep copies bytes behind the unread ones, which lie in own.
func (in *Input) keep(p *bufs.Pool, b []byte) {
	if start := len(in.own) - len(in.Unread); start > 0 && cap(in.own)-len(in.own) < len(b) {
		n := copy(in.own, in.Unread) // bytes that were read make room
		in.own = in.own[:n]
	}
	unread := len(in.Unread)
	in.own = append(p.Grow(in.own, len(b)), b...)
	in.Unread = in.own[len(in.own)-unread-len(b):]
}

// Drop drops the unread bytes, and gives back the own buffer.
func (in *Input) Drop(p *bufs.Pool) {
	p.Put(in.own)
	in.own, in.Unread = nil, nil
}

// A Room is memory for bytes that the task receives itself, to be read behind the unread ones.
type Room struct {
	Bytes    []byte
	borrowed bool // it is the worker's
}

// Room is memory for one read, at most of that size. While little is unread, it is the worker's,
// behind a copy of the unread bytes; then the own buffer does not grow. No chunk is attached.
// Nothing is received before Arrived.
func (in *Input) Room(p *bufs.Pool, s *Scratch, most int) Room {
	if len(in.Unread) > most/4 {
		return Room{Bytes: in.Space(p, most/4)}
	}
	room := s.Room(most)
	return Room{Bytes: room[copy(room, in.Unread):], borrowed: true}
}

// Arrived adds the n bytes that were put into the room.
func (in *Input) Arrived(p *bufs.Pool, s *Scratch, r Room, n int) {
	if !r.borrowed {
		in.Extend(n)
		return
	}
	n += len(in.Unread)
	in.Drop(p)
	in.chunk, in.shared, in.Unread = reactor.Buffer{Bytes: s.room[:n]}, true, s.room[:n]
}

// Space is room for n bytes at least behind the unread ones. It is small for a small n, since it is
// kept as long as the handler leaves something in it. No chunk is attached.
func (in *Input) Space(p *bufs.Pool, n int) []byte {
	unread := len(in.Unread)
	if start := len(in.own) - unread; start > 0 && cap(in.own)-len(in.own) < n {
		in.own = in.own[:copy(in.own, in.Unread)]
	}
	in.own = p.Grow(in.own, n)
	in.Unread = in.own[len(in.own)-unread:]
	return in.own[len(in.own):cap(in.own)]
}

// Extend adds the n bytes that were put into the Space.
func (in *Input) Extend(n int) {
	unread := len(in.Unread)
	in.own = in.own[:len(in.own)+n]
	in.Unread = in.own[len(in.own)-unread-n:]
}
