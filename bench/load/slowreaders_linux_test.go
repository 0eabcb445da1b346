package load

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSlowReadersTakeTheirTimeAndGetEverything(t *testing.T) {
	chunks := NewChunker()
	var sent atomic.Int64
	addr := serve(t, func(c net.Conn) {
		var request [1]byte
		if _, err := c.Read(request[:]); err != nil {
			return
		}
		for chunk := chunks.Chunk(request[0]); len(chunk) > 0; {
			n, err := c.Write(chunk[:min(len(chunk), 4<<10)])
			if err != nil {
				return
			}
			sent.Add(int64(n))
			chunk = chunk[n:]
		}
		_, _ = c.Read(request[:])
	})
	cfg := config(addr, 0)
	cfg.ReadRate, cfg.For = 64<<10, 300*time.Millisecond
	held := false
	r, err := SlowReaders(cfg, func() {
		held = true
		require.Less(t, sent.Load(), int64(3*ChunkSize), "the server has been held up")
	})
	require.NoError(t, err)
	require.True(t, held)
	require.EqualValues(t, 3, r.Count)
	require.EqualValues(t, 3*ChunkSize, r.Bytes)
}
