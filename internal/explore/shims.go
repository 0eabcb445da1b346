package explore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Word is an atomic integer.
type Word[T int32 | int64 | uint32 | uint64] struct{ bits atomic.Uint64 }

func (w *Word[T]) Load() T {
	th := enter(unsafe.Pointer(w), reading)
	v := T(w.bits.Load())
	th.leave(func() string { return fmt.Sprintf("Load = %#x", v) })
	return v
}

func (w *Word[T]) Store(v T) {
	th := enter(unsafe.Pointer(w), writing)
	w.bits.Store(uint64(v))
	th.leave(func() string { return fmt.Sprintf("Store %#x", v) })
}

func (w *Word[T]) CompareAndSwap(old, v T) bool {
	th := enter(unsafe.Pointer(w), writing)
	ok := w.bits.CompareAndSwap(uint64(old), uint64(v))
	th.leave(func() string { return fmt.Sprintf("CompareAndSwap %#x, %#x = %v", old, v, ok) })
	return ok
}

func (w *Word[T]) Swap(v T) T {
	return w.change("Swap", v, func(T) T { return v })
}

// Add returns the new value; And and Or return the old one.
func (w *Word[T]) Add(d T) T {
	return w.change("Add", d, func(v T) T { return v + d }) + d
}

func (w *Word[T]) And(m T) T {
	return w.change("And", m, func(v T) T { return v & m })
}

func (w *Word[T]) Or(m T) T {
	return w.change("Or", m, func(v T) T { return v | m })
}

func (w *Word[T]) change(what string, by T, f func(T) T) (old T) {
	th := enter(unsafe.Pointer(w), writing)
	for {
		bits := w.bits.Load()
		old = T(bits)
		if w.bits.CompareAndSwap(bits, uint64(f(old))) {
			break
		}
	}
	th.leave(func() string { return fmt.Sprintf("%s %#x, it was %#x", what, by, old) })
	return old
}

// A Bool is an atomic bool.
type Bool struct{ w Word[uint32] }

func (b *Bool) Load() bool       { return b.w.Load() != 0 }
func (b *Bool) Store(v bool)     { b.w.Store(word(v)) }
func (b *Bool) Swap(v bool) bool { return b.w.Swap(word(v)) != 0 }

func (b *Bool) CompareAndSwap(old, v bool) bool { return b.w.CompareAndSwap(word(old), word(v)) }

func word(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// A Pointer is an atomic pointer.
type Pointer[T any] struct{ p atomic.Pointer[T] }

func (p *Pointer[T]) Load() *T {
	th := enter(unsafe.Pointer(p), reading)
	v := p.p.Load()
	th.leave(func() string { return fmt.Sprintf("Load = %p", v) })
	return v
}

func (p *Pointer[T]) Store(v *T) {
	th := enter(unsafe.Pointer(p), writing)
	p.p.Store(v)
	th.leave(func() string { return fmt.Sprintf("Store %p", v) })
}

func (p *Pointer[T]) Swap(v *T) *T {
	th := enter(unsafe.Pointer(p), writing)
	old := p.p.Swap(v)
	th.leave(func() string { return fmt.Sprintf("Swap %p, it was %p", v, old) })
	return old
}

func (p *Pointer[T]) CompareAndSwap(old, v *T) bool {
	th := enter(unsafe.Pointer(p), writing)
	ok := p.p.CompareAndSwap(old, v)
	th.leave(func() string { return fmt.Sprintf("CompareAndSwap %p, %p = %v", old, v, ok) })
	return ok
}

// A Mutex is a lock that threads can wait for.
type Mutex struct {
	mu   sync.Mutex
	held bool // by a thread
}

func (m *Mutex) Lock() {
	if th := running.Load(); th == nil || th.x.aside || th.x.over {
		m.mu.Lock()
		return
	}
	x := running.Load().x
	x.wait("Lock", unsafe.Pointer(m), func() bool { return !m.held }, func() { m.held = true }, false)
}

// TryLock is one operation. Before it, others may take the lock or release it.
func (m *Mutex) TryLock() bool {
	th := enter(unsafe.Pointer(m), writing)
	if th == nil {
		return !m.held && m.mu.TryLock()
	}
	ok := !m.held
	m.held = true
	th.leave(func() string { return fmt.Sprintf("TryLock = %v", ok) })
	return ok
}

func (m *Mutex) Unlock() {
	if !m.held {
		m.mu.Unlock()
		return
	}
	th := enter(unsafe.Pointer(m), writing)
	m.held = false
	th.leave(func() string { return "Unlock" })
}
