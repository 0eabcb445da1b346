package reactor

import (
	"slices"
	"sync/atomic"
)

// A starvation holds the receives that wait for a buffer of one group.
//
// A buffer that comes back serves one receive, or several small ones. If it had all of them
// armed, all others would end with ENOBUFS and come back here: with n connections, n
// completions for each buffer. So each Poll arms as many as there are buffers, and twice as
// many as the one before if those did not run out of buffers. It goes on until nothing
// waits: a receive that was armed may belong to an idle connection, and one behind it to
// a connection that has something.
//
// A receive that is submitted meanwhile waits behind the others.
type starvation struct {
	active atomic.Bool // a buffer that comes back has to wake the owner

	ops   []Op // the submission side's
	round int  // the completion side's: how many the last Poll armed; 0: they ran out of buffers
}

// add has a receive wait.
func (s *starvation) add(op *Op) {
	s.ops = append(s.ops, *op)
	s.active.Store(true)
}

// ranOut is for a receive that has ended with ENOBUFS.
func (s *starvation) ranOut() {
	s.round = 0
	s.active.Store(true)
}

// next takes the receives to arm now that so many buffers are free.
func (s *starvation) next(free int) []Op {
	if len(s.ops) == 0 {
		s.round = 0
		s.active.Store(false)
		return nil
	}
	if free == 0 {
		s.round = 0
		return nil
	}
	s.round = max(free, 2*s.round)
	n := min(s.round, len(s.ops))
	turn := s.ops[:n:n]
	if s.ops = s.ops[n:]; len(s.ops) == 0 {
		s.ops = nil
	}
	return turn
}

// cancel takes a receive out, and reports whether it was there.
func (s *starvation) cancel(token Token) bool {
	i := slices.IndexFunc(s.ops, func(op Op) bool { return op.Token == token })
	if i >= 0 {
		s.ops = slices.Delete(s.ops, i, i+1)
	}
	return i >= 0
}
