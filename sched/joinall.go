package sched

// Join polls all the futures and is done when all of them are. Its value has their values in the
// order of the arguments. Without futures it is done at once. The first error ends the Join at
// once, and the futures that are not done are abandoned. The slice then holds the values of those
// that were done, beside zero values, so that the caller can release them.
//
// A Join that is abandoned releases the values it has (see Releaser).
//
// Every poll polls each future that is not done. For more than some dozens of futures, spawn them
// into a JoinSet.
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

// A Pair is the result of Join2. With an error it holds the values of the futures that were done;
// release or close them.
type Pair[A, B any] struct {
	First  A
	Second B
}

// Release gives back both values if nobody takes the Pair.
func (p Pair[A, B]) Release() {
	defer releaseValue(p.Second) // also if the first panics
	releaseValue(p.First)
}

// Join2 is Join for two futures of different types. If one fails, the Pair holds the value of the
// other if that was done. For example, the caller must close a Stream in it.
func Join2[A, B any](a Future[A], b Future[B]) Future[Pair[A, B]] {
	r := new(Pair[A, B])
	return &joining[Pair[A, B]]{r, []part{&partOf[A]{a, &r.First}, &partOf[B]{b, &r.Second}}}
}

// A Triple is the result of Join3. With an error it holds the values of the futures that were
// done.
type Triple[A, B, C any] struct {
	First  A
	Second B
	Third  C
}

// Release gives back all values if nobody takes the Triple.
func (t Triple[A, B, C]) Release() {
	defer releaseValue(t.Third) // also if another one panics
	Pair[A, B]{t.First, t.Second}.Release()
}

// Join3 is Join for three futures of different types: see Join2 for errors. For more futures, see
// Any.
func Join3[A, B, C any](a Future[A], b Future[B], c Future[C]) Future[Triple[A, B, C]] {
	r := new(Triple[A, B, C])
	return &joining[Triple[A, B, C]]{r, []part{&partOf[A]{a, &r.First}, &partOf[B]{b, &r.Second}, &partOf[C]{c, &r.Third}}}
}

// joining polls parts; each part stores its value in a result of type R.
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
	stop()                  // abandons the future if it is not done
	release()               // releases the value if the future is done
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

// releaseValue releases a value that nobody takes.
func releaseValue[T any](v T) {
	if r, ok := any(v).(Releaser); ok {
		r.Release()
	}
}
