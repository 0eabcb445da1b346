package syncx

import "sync"

// A pool has futures for those who have none of their own. When one is put back it was
// done or cancelled; one whose wait panicked is not put back.
type pool[F any] struct{ p sync.Pool }

func (p *pool[F]) get() *F {
	if f := p.p.Get(); f != nil {
		return f.(*F)
	}
	return new(F)
}

func (p *pool[F]) put(f *F) { p.p.Put(f) }
