package blocking_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
)

// A pointed is a result whose pointer is a Releaser.
type pointed struct{ n *atomic.Int64 }

func (p *pointed) Release() { p.n.Add(1) }

// A dropped result is released as package sched releases that of a task.
func TestEachKindOfReleaserIsReleasedIfItsCallWasAborted(t *testing.T) {
	var n atomic.Int64
	for name, drop := range map[string]func(p *blocking.Pool, g *gate) (abort func() bool){
		"a value":                  dropped(counted{&n}),
		"a value by its pointer":   dropped(pointed{&n}),
		"a pointer":                dropped(&pointed{&n}),
		"an interface":             dropped[any](counted{&n}),
		"an element of a slice":    dropped([]counted{{&n}}),
		"a pointer within a slice": dropped([]*pointed{nil, {&n}}),
	} {
		t.Run(name, func(t *testing.T) {
			n.Store(0)
			p := newPool(t, blocking.Config{})
			g := newGate(t, 1)
			abort := drop(p, g)
			receive(t, "the call starts", g.entered)
			require.False(t, abort())
			g.release()
			eventually(t, "the result is released", func() bool { return n.Load() == 1 })
		})
	}
	p := newPool(t, blocking.Config{})
	g := newGate(t, 1)
	h := blocking.Submit(p, func() (*pointed, error) { _, err := g.pass(); return nil, err })
	receive(t, "the call starts", g.entered)
	h.Abort()
	g.release()
	_, err := result(t, blocking.Submit(p, g.pass))
	require.NoError(t, err, "a nil pointer is not released")
}

// dropped submits a call with that result.
func dropped[T any](v T) func(p *blocking.Pool, g *gate) (abort func() bool) {
	return func(p *blocking.Pool, g *gate) func() bool {
		return blocking.Submit(p, func() (T, error) {
			_, err := g.pass()
			return v, err
		}).Abort
	}
}
