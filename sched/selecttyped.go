package sched

// Selected2 is the first future of a Select2 that was done: Index 0 with A, or Index 1 with B. The
// other field is the zero value.
type Selected2[A, B any] struct {
	Index int
	A     A
	B     B
	Err   error
}

// Release releases the value if nobody takes it.
func (s Selected2[A, B]) Release() { releaseResult([]any{s.A, s.B}[s.Index], s.Err) }

// Selected3 is the first future of a Select3 that was done: Index 0 with A, 1 with B, or 2 with C.
// The other fields are zero values.
type Selected3[A, B, C any] struct {
	Index int
	A     A
	B     B
	C     C
	Err   error
}

// Release releases the value if nobody takes it.
func (s Selected3[A, B, C]) Release() { releaseResult([]any{s.A, s.B, s.C}[s.Index], s.Err) }

// Select2 is Select of two futures of different types.
func Select2[A, B any](a Future[A], b Future[B]) Future[Selected2[A, B]] {
	return &selecting2[A, B]{newSelecting([]Future[any]{anyOrNil(a), anyOrNil(b)})}
}

// Select3 is Select of three futures of different types.
func Select3[A, B, C any](a Future[A], b Future[B], c Future[C]) Future[Selected3[A, B, C]] {
	return &selecting3[A, B, C]{newSelecting([]Future[any]{anyOrNil(a), anyOrNil(b), anyOrNil(c)})}
}

// anyOrNil is Any for Select, which ignores nil futures.
func anyOrNil[T any](f Future[T]) Future[any] {
	if f == nil {
		return nil
	}
	return Any(f)
}

type selecting2[A, B any] struct{ *selecting[any] }

func (s *selecting2[A, B]) Poll(cx *Context) (first Selected2[A, B], err error) {
	of, err := s.selecting.Poll(cx)
	if err != nil {
		return first, err
	}
	first.Index, first.Err = of.Index, of.Err
	switch of.Index { // a nil value of an interface type is no A
	case 0:
		first.A, _ = of.Value.(A)
	case 1:
		first.B, _ = of.Value.(B)
	}
	return first, nil
}

type selecting3[A, B, C any] struct{ *selecting[any] }

func (s *selecting3[A, B, C]) Poll(cx *Context) (first Selected3[A, B, C], err error) {
	of, err := s.selecting.Poll(cx)
	if err != nil {
		return first, err
	}
	first.Index, first.Err = of.Index, of.Err
	switch of.Index {
	case 0:
		first.A, _ = of.Value.(A)
	case 1:
		first.B, _ = of.Value.(B)
	case 2:
		first.C, _ = of.Value.(C)
	}
	return first, nil
}
