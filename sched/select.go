package sched

import (
	"math/rand/v2"
	"slices"
)

// Selected is the first future of a Select that was done: its index, counted from 0, and its
// result.
type Selected[T any] struct {
	Index int
	Value T
	Err   error
}

// Release releases the value if nobody takes it.
func (s Selected[T]) Release() { releaseResult(s.Value, s.Err) }

// Select is done with the first future that is done, with a value or with an error, and abandons
// the others. Its own error is nil, or ErrEmpty if there are no futures. Nil futures are ignored,
// as select ignores nil channels. Select2 and Select3 are for futures of different types; for more
// of them use Any.
//
// If the future is a JoinHandle and another one wins, its task is not aborted.
//
// Every poll polls each future until one is done. The first poll starts with a random future, and
// each further poll with the next one. So a future that is always ready does not starve the
// others, even if a loop makes a new Select each time.
//
// A Select that is done uses one unit of the task's budget, unless its futures have used some (see
// Context.Proceed). So a loop of Selects lets other tasks run.
func Select[T any](fs ...Future[T]) Future[Selected[T]] { return newSelecting(fs) }

// SelectBiased is Select in a fixed order: every poll begins with the first future, so that of two
// ready futures the earlier one wins. (Tokio's biased select.) Put a shutdown signal before a
// source that may always be ready, and never after it: a future that is always ready starves the
// futures after it. It needs no random number.
func SelectBiased[T any](fs ...Future[T]) Future[Selected[T]] {
	return &selecting[T]{fs: slices.Clone(fs), biased: true}
}

// Race is Select without the index: its value and error are those of the first future that is
// done.
func Race[T any](fs ...Future[T]) Future[T] { return &racing[T]{newSelecting(fs)} }

// Any is f with its value as any, so that futures of different types can be given to Select, Race
// and Join. The value is boxed once, at the end.
func Any[T any](f Future[T]) Future[any] {
	mustHaveFuture(f)
	return &anyFuture[T]{f}
}

type selecting[T any] struct {
	fs   []Future[T] // nil: ignored, done, or abandoned
	from int         // the index of the future that is polled first
	won  Undoer      // the future that was done first; nil: it has nothing to undo

	biased bool // from stays 0
}

func newSelecting[T any](fs []Future[T]) *selecting[T] {
	s := &selecting[T]{fs: slices.Clone(fs)} // a copy, because Poll writes to it
	if len(fs) > 1 {
		s.from = rand.IntN(len(fs))
	}
	return s
}

func (s *selecting[T]) Poll(cx *Context) (Selected[T], error) {
	left := cx.budget
	if left <= 0 {
		cx.yield()
		return Selected[T]{}, ErrPending
	}
	n, empty := len(s.fs), true
	for i := range n {
		i = (s.from + i) % n
		f := s.fs[i]
		if f == nil {
			continue
		}
		empty = false
		if v, err := f.Poll(cx); err != ErrPending {
			if cx.budget == left {
				cx.budget--
			}
			s.fs[i] = nil
			s.win(f, v, err)
			return Selected[T]{Index: i, Value: v, Err: err}, nil
		}
	}
	if empty {
		return Selected[T]{}, ErrEmpty
	}
	if !s.biased {
		s.from = (s.from + 1) % n
	}
	return Selected[T]{}, ErrPending
}

// win abandons the futures that have lost. If the Cancel of one panics, nobody gets the result.
func (s *selecting[T]) win(f Future[T], v T, err error) {
	abandoned := false
	defer func() {
		if !abandoned {
			drop(f, v, err)
		}
	}()
	s.Cancel()
	abandoned = true
	if err == nil {
		s.won, _ = f.(Undoer)
	}
}

// Cancel abandons the futures that are not done.
func (s *selecting[T]) Cancel() { abandonAll(s.fs) }

// Undo undoes the result of the first future.
func (s *selecting[T]) Undo() {
	u := s.won
	s.won = nil
	undo(u)
}

// abandonAll abandons futures and forgets them. If a Cancel panics, the others are abandoned
// before the panic continues.
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

func (a *anyFuture[T]) Undo() { undo(a.f) }
