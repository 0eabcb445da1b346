package reactor

import (
	"slices"
	"sync/atomic"
)

// A starvation holds the receives that wait for a buffer of one group.
//
// A released buffer serves one receive, or several small ones. If it armed all waiting receives,
// all but those would end with ENOBUFS and wait again: with n connections, n completions for each
// buffer. So each Poll arms as many as there are buffers, and twice as many as the Poll before if
// those did not run out of buffers. It goes on until no receive waits: an armed receive may belong
// to an idle connection, and the next one to a connection that has data.
//
// A receive that is submitted meanwhile waits behind the others.
type starvation struct {
	active atomic.Bool // a released buffer must wake the owner

	ops   []Op // used by the submission side
	round int  // used by the completion side: how many the last Poll armed; 0: they ran out of buffers
}

// add queues a receive.
func (s *starvation) add(op *Op) {
	s.ops = append(s.ops, *op)
	s.active.Store(true)
}

// ranOut is called for a receive that has ended with ENOBUFS.
func (s *starvation) ranOut() {
	s.round = 0
	s.active.Store(true)
}

// next takes the receives to arm, given the number of free buffers.
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

// cancel removes a receive, and reports whether it was waiting.
func (s *starvation) cancel(token Token) bool {
	i := slices.IndexFunc(s.ops, func(op Op) bool { return op.Token == token })
	if i >= 0 {
		s.ops = slices.Delete(s.ops, i, i+1)
	}
	return i >= 0
}
