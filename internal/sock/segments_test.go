package sock

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhole(t *testing.T) {
	for _, c := range []struct{ n, segment, want int }{
		{100, 0, 100}, // unknown
		{100, 30, 90},
		{90, 30, 90},
		{29, 30, 29},
		{0, 30, 0},
	} {
		require.Equal(t, c.want, whole(c.n, c.segment), "%d bytes of segments of %d", c.n, c.segment)
	}
}

func TestCallsAreOfWholeSegmentsAndInOrder(t *testing.T) {
	p := make([]byte, 2*CallSize+10)
	_, _ = rand.New(rand.NewSource(1)).Read(p)
	const large = 1 << 30
	for name, c := range map[string]struct {
		split, size, room int
		calls             []int // how much each is to send
	}{
		"nothing":                  {room: large},
		"little, of both":          {split: 3, size: 10, room: large, calls: []int{10}},
		"as much as one call":      {size: CallSize, room: large, calls: []int{CallSize}},
		"much, of the first":       {split: len(p), size: len(p), room: large, calls: []int{CallSize, CallSize, 10}},
		"much, of the second":      {size: len(p), room: large, calls: []int{CallSize, CallSize, 10}},
		"a split within a call":    {split: CallSize + 5, size: len(p), room: large, calls: []int{CallSize, CallSize, 10}},
		"room for a part":          {split: 3, size: len(p), room: CallSize + 1, calls: []int{CallSize, CallSize}},
		"room for a call, no more": {size: len(p), room: CallSize, calls: []int{CallSize, CallSize}},
		"no room":                  {split: 3, size: 10, calls: []int{10}},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []byte
			var calls []int
			for cut := CallsOf(-1, p[:c.split], p[c.split:c.size]); cut.More(); { // of no socket the segments are unknown
				call := append(bytes.Clone(cut.First), cut.Second...)
				n := min(len(call), c.room-len(sent))
				calls, sent = append(calls, len(call)), append(sent, call[:n]...)
				cut.Took(n)
				require.LessOrEqual(t, len(calls), 3, "it does not end")
			}
			require.Equal(t, c.calls, calls)
			require.True(t, bytes.Equal(p[:min(c.size, c.room)], sent), "other bytes were sent")
		})
	}
}
