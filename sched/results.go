package sched

// A Result is the value and the error of a future or a task.
type Result[T any] struct {
	Value T
	Err   error
}

// JoinAll polls all the futures and is done when all are done. Its value has their results, each a
// value or an error, in the order of the arguments. Unlike Join it does not end at the first
// error. Its own error is always nil. Without futures it is done at once.
//
// A JoinAll that is abandoned abandons the futures that are not done, and releases the values it
// has (see Releaser). It returns all results at once. So to lose no result, do not put it in a
// Select that may drop it. Every poll polls each future that is not done. For more than some
// dozens of futures, spawn them into a JoinSet.
func JoinAll[T any](fs ...Future[T]) Future[[]Result[T]] {
	results := make([]Future[Result[T]], len(fs))
	for i, f := range fs {
		mustHaveFuture(f)
		results[i] = &settled[T]{branch[T]{f: f}}
	}
	return Join(results...)
}

// settled is a future whose error is part of its value.
type settled[T any] struct{ branch[T] }

func (s *settled[T]) Poll(cx *Context) (Result[T], error) {
	v, err := s.poll(cx)
	if err == ErrPending {
		return Result[T]{}, err
	}
	return Result[T]{v, err}, nil
}

func (s *settled[T]) Cancel() { s.cancel() }

// Release releases a value that nobody takes.
func (r Result[T]) Release() { releaseResult(r.Value, r.Err) }

// JoinAll takes the results of all tasks of the set, in the order in which they end. It is done
// when the set is empty. Its own error is always nil. Results that others take meanwhile are
// missing. A JoinAll that is abandoned releases the results it has taken, and leaves the others in
// the set. A loop of JoinNext loses none.
func (s *JoinSet[T]) JoinAll() Future[[]Result[T]] { return &joinAll[T]{next: joinNext[T]{set: s}} }

type joinAll[T any] struct {
	next    joinNext[T]
	results []Result[T]
	taken   []*member[T] // of the results
}

func (j *joinAll[T]) Poll(cx *Context) ([]Result[T], error) {
	for {
		v, m, err := j.next.set.take(cx, &j.next.node)
		switch {
		case m != nil:
			j.results, j.taken = append(j.results, Result[T]{v, err}), append(j.taken, m)
		case err == ErrEmpty:
			return j.results, nil
		default:
			return nil, err
		}
	}
}

// Cancel gives back the results that were taken.
func (j *joinAll[T]) Cancel() {
	j.next.Cancel()
	for i, m := range j.taken {
		m.rt.logLost(j.results[i].Err)
	}
	results := j.results
	j.results = nil
	defer giveUp(results, Result[T].Release)
	j.Undo()
}

// Undo undoes the results that were taken.
func (j *joinAll[T]) Undo() {
	taken := j.taken
	j.taken = nil
	giveUp(taken, (*member[T]).Undo)
}
