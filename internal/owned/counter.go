package owned

import "sync/atomic"

// A Counter counts. The zero value is 0.
type Counter struct{ n atomic.Uint64 }

// Add adds n. Only the owner calls it.
func (c *Counter) Add(n uint64) { c.n.Store(c.n.Load() + n) }

// Load is the value. Any goroutine may call it.
func (c *Counter) Load() uint64 { return c.n.Load() }
