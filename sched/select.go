package sched

import (
	"math/rand/v2"
	"slices"
)

// Selected says which future of a Select was the first to be done, counted from
// 0, and its result.
type Selected[T any] struct {
	Index int
	Value T
	Err   error
}

// Select is done with the first of the futures that is, whether with a value or
// with an error, and abandons the others. Its own error is nil; ErrEmpty if there
// are no futures. Nil ones are passed over, as select does with nil channels.
//
// A task that a JoinHandle stands for is not aborted when the handle loses.
//
// Every poll polls each future until one is done. It starts with any of them and
// at the next poll with the next, so that one which is always ready does not keep
// the others from their turn, even if a loop makes a new Select each time.
func Select[T any](fs ...Future[T]) Future[Selected[T]] { return newSelecting(fs) }

// Race is Select for those whom it does not concern which future it was: its
// value and error are those of the first that is done.
func Race[T any](fs ...Future[T]) Future[T] { return &racing[T]{newSelecting(fs)} }

// Any is f with its value as any: futures of different types can then be given
// to Select, Race and Join together. The value is boxed once, at the end.
func Any[T any](f Future[T]) Future[any] { return &anyFuture[T]{f} }

type selecting[T any] struct {
	fs   []Future[T] // nil: passed over, done, or abandoned
	from int         // that is polled first
}

func newSelecting[T any](fs []Future[T]) *selecting[T] {
	s := &selecting[T]{fs: slices.Clone(fs)} // it is written to
	if len(fs) > 1 {
		s.from = rand.IntN(len(fs))
	}
	return s
}

func (s *selecting[T]) Poll(cx *Context) (Selected[T], error) {
	n, empty := len(s.fs), true
	for i := range n {
		i = (s.from + i) % n
		f := s.fs[i]
		if f == nil {
			continue
		}
		empty = false
		if v, err := f.Poll(cx); err != ErrPending {
			s.fs[i] = nil
			s.Cancel()
			return Selected[T]{Index: i, Value: v, Err: err}, nil
		}
	}
	if empty {
		return Selected[T]{}, ErrEmpty
	}
	s.from = (s.from + 1) % n
	return Selected[T]{}, ErrPending
}

// Cancel abandons the futures that are not done.
func (s *selecting[T]) Cancel() { abandonAll(s.fs) }

// abandonAll abandons futures and forgets them. If a Cancel panics, the others are
// told before that goes on.
func abandonAll[T any](fs []Future[T]) {
	i := 0
	defer func() {
		if i < len(fs) {
			abandonAll(fs[i:])
		}
	}()
	for i < len(fs) {
		f := fs[i]
		fs[i] = nil
		i++
		abandon(f)
	}
}

type racing[T any] struct{ *selecting[T] }

func (r *racing[T]) Poll(cx *Context) (T, error) {
	first, err := r.selecting.Poll(cx)
	if err != nil {
		return first.Value, err
	}
	return first.Value, first.Err
}

type anyFuture[T any] struct{ f Future[T] }

func (a *anyFuture[T]) Poll(cx *Context) (any, error) {
	v, err := a.f.Poll(cx)
	if err == ErrPending {
		return nil, ErrPending
	}
	return v, err
}

func (a *anyFuture[T]) Cancel() { abandon(a.f) }
