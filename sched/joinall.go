package sched

// Join polls all the futures and is done when all of them are. Its value has their values in the
// order of the arguments. Without futures it is done at once. The first error ends the Join at
// once, and the futures that are not done are abandoned. The slice then holds the values of those
// that were done, beside zero values, so that the caller can release them. A lock or another thing
// that a value does not show has been given back (see Undoer).
//
// A Join that is abandoned releases the values it has (see Releaser), and gives back the rest in
// the same way.
//
// Every poll polls each future that is not done. If one of them finds the task's budget used up
// (see Context.Proceed), the next poll begins with the one after it. For more than some dozens of
// futures, spawn them into a JoinSet.
func Join[T any](fs ...Future[T]) Future[[]T] {
	values := make([]T, len(fs))
	own := make([]partOf[T], len(fs))
	parts := make([]part, len(fs))
	for i, f := range fs {
		mustHaveFuture(f)
		own[i] = partOf[T]{branch: branch[T]{f: f}, value: &values[i]}
		parts[i] = &own[i]
	}
	return &joining[[]T]{result: &values, parts: parts}
}

// A Pair is the result of Join2. With an error it holds the values of the futures that were done;
// release or close them.
type Pair[A, B any] struct {
	First  A
	Second B
}

// Release gives back both values if nobody takes the Pair. A zero value is not released.
func (p Pair[A, B]) Release() {
	defer releasePart(p.Second) // also if the first panics
	releasePart(p.First)
}

func (Pair[A, B]) parts() {}

// Join2 is Join for two futures of different types. If one fails, the Pair holds the value of the
// other if that was done. For example, the caller must close a Stream in it.
func Join2[A, B any](a Future[A], b Future[B]) Future[Pair[A, B]] {
	mustHaveFuture(a)
	mustHaveFuture(b)
	r := new(Pair[A, B])
	return &joining[Pair[A, B]]{result: r, parts: []part{newPart(a, &r.First), newPart(b, &r.Second)}}
}

// A Triple is the result of Join3. With an error it holds the values of the futures that were
// done.
type Triple[A, B, C any] struct {
	First  A
	Second B
	Third  C
}

// Release gives back all values if nobody takes the Triple. A zero value is not released.
func (t Triple[A, B, C]) Release() {
	defer releasePart(t.Third) // also if another one panics
	Pair[A, B]{t.First, t.Second}.Release()
}

func (Triple[A, B, C]) parts() {}

// Join3 is Join for three futures of different types: see Join2 for errors. For more futures, see
// Any.
func Join3[A, B, C any](a Future[A], b Future[B], c Future[C]) Future[Triple[A, B, C]] {
	mustHaveFuture(a)
	mustHaveFuture(b)
	mustHaveFuture(c)
	r := new(Triple[A, B, C])
	return &joining[Triple[A, B, C]]{result: r, parts: []part{newPart(a, &r.First), newPart(b, &r.Second), newPart(c, &r.Third)}}
}

// joining polls parts; each part stores its value in a result of type R.
type joining[R any] struct {
	result *R
	parts  []part
	from   int // the index of the part that is polled first
}

func (j *joining[R]) Poll(cx *Context) (R, error) {
	pending, spent := false, false
	n, from := len(j.parts), j.from
	for i := range n {
		at := (from + i) % n
		switch err := j.parts[at].poll(cx); err {
		case nil:
		case ErrPending:
			pending = true
			if cx.budget <= 0 && !spent { // the next poll begins with the first that finds no budget now
				spent, j.from = true, (at+1)%n
			}
		default:
			giveUp(j.parts, part.fail)
			return *j.result, err
		}
	}
	if pending {
		return *new(R), ErrPending
	}
	return *j.result, nil
}

// Cancel abandons the futures that are not done, and gives back the results of the others.
func (j *joining[R]) Cancel() { giveUp(j.parts, part.drop) }

// Undo undoes the results of all futures.
func (j *joining[R]) Undo() { giveUp(j.parts, part.fail) }

// giveUp calls do for each part, even if a call panics.
func giveUp[P any](parts []P, do func(P)) {
	for len(parts) > 0 {
		p := parts[0]
		parts = parts[1:]
		func() {
			returned := false
			defer func() {
				if !returned {
					giveUp(parts, do)
				}
			}()
			do(p)
			returned = true
		}()
	}
}

// A part of a joining is one future, with a value of any type.
type part interface {
	poll(cx *Context) error // nil once the future is done
	fail()                  // abandons the future, or undoes its result and leaves the value to the caller
	drop()                  // abandons the future, or gives back its result
}

type partOf[T any] struct {
	branch[T]
	value *T
	ended bool // the future is done or abandoned
	has   bool // the value is that of a future that is done
}

func newPart[T any](f Future[T], value *T) *partOf[T] {
	return &partOf[T]{branch: branch[T]{f: f}, value: value}
}

func (p *partOf[T]) poll(cx *Context) error {
	if p.ended {
		return nil
	}
	v, err := p.branch.poll(cx)
	if err != ErrPending {
		*p.value, p.ended, p.has = v, true, err == nil
	}
	return err
}

func (p *partOf[T]) fail() {
	if !p.ended {
		p.ended = true
		p.cancel()
		return
	}
	p.Undo()
}

func (p *partOf[T]) drop() {
	v, has := *p.value, p.has
	if p.has = false; has {
		*p.value = *new(T)
		defer releaseValue(v) // also if Undo panics
	}
	p.fail()
}
