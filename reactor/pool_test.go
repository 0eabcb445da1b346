package reactor

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func newTestPool(t *testing.T, buffers, size int) *pool {
	t.Helper()
	p, err := newPool(buffers, size)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.close()) })
	return p
}

func TestShutEndsTheUseOfOpenBuffers(t *testing.T) {
	p := newTestPool(t, 4, 100)
	p.open(0)
	p.open(1)
	p.took(1, 60)
	p.open(2)
	p.took(2, 100)
	require.False(t, p.filled(2))
	require.Equal(t, []uint16{0}, p.shut(), "a slice of 1 is out, 2 is not open, and 3 was not")
	require.True(t, p.drop(1))
	require.True(t, p.drop(2))
	require.Empty(t, p.shut())
}

func TestBufferIsWholeWhenFilledAndGivenBack(t *testing.T) {
	p := newTestPool(t, 2, 100)
	p.open(1)
	a := p.took(1, 60)
	require.Len(t, p.rest(1), 40)
	require.False(t, p.drop(1), "more may be received into it")
	b := p.took(1, 40)
	require.Empty(t, p.rest(1))
	require.False(t, p.filled(1), "a slice is out")
	require.True(t, p.drop(1))

	require.Len(t, a.Bytes, 60)
	require.Equal(t, 60, cap(a.Bytes), "an append must not run into the neighbor")
	require.Equal(t, 40, cap(b.Bytes))
	p.open(1)
	require.Len(t, p.rest(1), 100, "whole again")
	require.True(t, p.filled(1), "nothing was received")
}

func TestDropWithoutSlicePanics(t *testing.T) {
	p := newTestPool(t, 1, 100)
	require.Panics(t, func() { p.drop(0) }, "never opened")
	p.open(0)
	require.Panics(t, func() { p.drop(0) }, "nothing handed out")
	p.took(0, 1)
	p.drop(0)
	require.Panics(t, func() { p.drop(0) }, "still filling")
	p.took(0, 1)
	require.False(t, p.filled(0))
	require.True(t, p.drop(0))
	require.Panics(t, func() { p.drop(0) }, "whole")
}

// Slices that are out at the same time never overlap, and every buffer becomes whole exactly once
// per use.
func TestPoolUnderRandomUse(t *testing.T) {
	const buffers, size = 4, 64
	p := newTestPool(t, buffers, size)
	rnd := rand.New(rand.NewPCG(1, 2))
	var out []Buffer
	whole, open := []uint16{0, 1, 2, 3}, []uint16{}
	mark := byte(0)
	for range 20_000 {
		switch k := rnd.IntN(3); {
		case k == 0 && len(whole) > 0:
			open = append(open, whole[0])
			p.open(whole[0])
			whole = whole[1:]
		case k == 1 && len(open) > 0:
			id := open[0]
			b := p.took(id, min(len(p.rest(id)), 1+rnd.IntN(30)))
			mark++
			for i := range b.Bytes {
				b.Bytes[i] = mark
			}
			out = append(out, b)
			if len(p.rest(id)) == 0 {
				open = open[1:]
				require.False(t, p.filled(id))
			}
		case k == 2 && len(out) > 0:
			i := rnd.IntN(len(out))
			b := out[i]
			for _, c := range b.Bytes {
				require.Equal(t, b.Bytes[0], c, "another slice wrote into this one")
			}
			out[i] = out[len(out)-1]
			out = out[:len(out)-1]
			if p.drop(b.id) {
				whole = append(whole, b.id)
				require.LessOrEqual(t, len(whole)+len(open), buffers)
			}
		}
	}
	for _, b := range out {
		if p.drop(b.id) {
			whole = append(whole, b.id)
		}
	}
	require.Len(t, append(whole, open...), buffers, "a buffer was lost")
}
