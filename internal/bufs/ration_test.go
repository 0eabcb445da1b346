package bufs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// As connections hold less and less, less and less is kept for them.
func TestARationGivesBackWithTheLoad(t *testing.T) {
	const ceiling = 64 << 20
	held := int64(ceiling)
	r := NewRation(ceiling, 2, func() int64 { return held })
	pool := Pool{Ration: r}
	sizes := []int{1 << 17, 1 << 20, 1 << 18, 1 << 22}
	highest := 0
	for i := 0; held > 0; i++ {
		size := sizes[i%len(sizes)]
		held -= int64(size) / 8 // of a buffer that has mostly been sent
		held = max(0, held)
		pool.Put(make([]byte, 0, size))
		kept := 0
		for i, free := range r.huge {
			kept += len(free) << (largeBits + 1 + i)
		}
		require.Equal(t, kept, r.bytes)
		require.LessOrEqual(t, kept, max(ceiling/8, int(held)))
		highest = max(highest, kept)
	}
	require.Greater(t, highest, ceiling/4, "buffers go round under load")
	require.LessOrEqual(t, r.bytes, ceiling/8, "connections hold nothing any more")
	b := pool.Get(1 << 20)
	require.Equal(t, 1<<20, cap(b))
}
