package sched

// Join polls all the futures and is done when they are, with their values in the
// order of the arguments; without futures at once. The first error is returned
// as soon as it is there, and the futures that are not done are abandoned; the
// slice then holds the values of those that were, beside zero values, so that what
// they own can be given back.
//
// A Join that is abandoned itself releases the values it has (see Releaser).
//
// Every poll polls each future that is not done: for more than some dozens, spawn
// them into a JoinSet.
func Join[T any](fs ...Future[T]) Future[[]T] {
	values := make([]T, len(fs))
	own := make([]partOf[T], len(fs))
	parts := make([]part, len(fs))
	for i, f := range fs {
		own[i] = partOf[T]{f, &values[i]}
		parts[i] = &own[i]
	}
	return &joining[[]T]{result: &values, parts: parts}
}

// A Pair is the result of Join2.
type Pair[A, B any] struct {
	First  A
	Second B
}

// Join2 is Join for two futures of different types.
func Join2[A, B any](a Future[A], b Future[B]) Future[Pair[A, B]] {
	r := new(Pair[A, B])
	return &joining[Pair[A, B]]{r, []part{&partOf[A]{a, &r.First}, &partOf[B]{b, &r.Second}}}
}

// A Triple is the result of Join3.
type Triple[A, B, C any] struct {
	First  A
	Second B
	Third  C
}

// Join3 is Join for three futures of different types. For more, see Any.
func Join3[A, B, C any](a Future[A], b Future[B], c Future[C]) Future[Triple[A, B, C]] {
	r := new(Triple[A, B, C])
	return &joining[Triple[A, B, C]]{r, []part{&partOf[A]{a, &r.First}, &partOf[B]{b, &r.Second}, &partOf[C]{c, &r.Third}}}
}

// joining polls parts that fill in a result of type R.
type joining[R any] struct {
	result *R
	parts  []part
}

func (j *joining[R]) Poll(cx *Context) (R, error) {
	pending := false
	for _, p := range j.parts {
		switch err := p.poll(cx); err {
		case nil:
		case ErrPending:
			pending = true
		default:
			giveUp(j.parts, part.stop)
			return *j.result, err
		}
	}
	if pending {
		return *new(R), ErrPending
	}
	return *j.result, nil
}

// Cancel abandons the futures that are not done and releases the values of the
// others.
func (j *joining[R]) Cancel() {
	giveUp(j.parts, func(p part) {
		p.release()
		p.stop()
	})
}

// giveUp does something to each part, even if it panics.
func giveUp(parts []part, do func(part)) {
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

// A part of a joining is one future, whatever its type.
type part interface {
	poll(cx *Context) error // nil once it is done
	stop()                  // abandons it if it is not done
	release()               // releases its value if it is
}

type partOf[T any] struct {
	f     Future[T] // nil: done or abandoned
	value *T
}

func (p *partOf[T]) poll(cx *Context) error {
	if p.f == nil {
		return nil
	}
	v, err := p.f.Poll(cx)
	if err != ErrPending {
		p.f, *p.value = nil, v
	}
	return err
}

func (p *partOf[T]) stop() {
	if f := p.f; f != nil {
		p.f = nil
		abandon(f)
	}
}

func (p *partOf[T]) release() {
	if p.f == nil {
		v := *p.value
		*p.value = *new(T)
		releaseValue(v)
	}
}

// releaseValue gives back a value that nobody takes.
func releaseValue[T any](v T) {
	if r, ok := any(v).(Releaser); ok {
		r.Release()
	}
}
