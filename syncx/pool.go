package syncx

import "sync"

// A pool holds futures for the methods that wait. A future that is put back was done or canceled.
// If its wait panicked, it is not put back.
type pool[F any] struct{ p sync.Pool }

func (p *pool[F]) get() *F {
	if f := p.p.Get(); f != nil {
		return f.(*F)
	}
	return new(F)
}

func (p *pool[F]) put(f *F) { p.p.Put(f) }
