package conn_test

import (
	"bytes"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// liveHeap is what the heap holds that is in use.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what a sync.Pool holds is freed by the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A spare gives back what its work has left to it. Its reactor remains. Memory of Go's own for more
// processors, 16 KiB each, is there for the whole process, so it is not counted here.
func TestASpareThatRestsKeepsLittleMemory(t *testing.T) {
	const spares, most = 4, 64 << 10
	// Threads and this test keep at least this of a round. A heap profile shows 66 KiB under Wine.
	const own = 48 << 10
	message := bytes.Repeat([]byte("x"), 16<<10)
	withSpares(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spares))
		var g *gate
		f := serve(t, backend, 1, funcs{data: func(c *conn.Conn) error { return g.data(c) }})
		// round blocks so many handlers, lets others answer at length, and then ends all.
		round := func(blocked int) {
			g = newGate()
			all := g.block(f, blocked)
			var others []net.Conn
			for range 64 {
				c, err := net.Dial("tcp", f.addr.String()) // f.dial keeps something of each until the end
				require.NoError(t, err)
				require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
				write(t, c, string(message))
				others = append(others, c)
			}
			for _, c := range others {
				require.Equal(t, message, read(t, c, len(message)))
			}
			write(t, others[0], "f")
			for _, c := range append(all, others[0]) {
				read(t, c, 1)
			}
			for _, c := range append(all, others...) {
				require.NoError(t, c.Close())
			}
			conntest.Eventually(t, func() bool { return f.Group.Len() == 0 && f.Group.Runtime().Stats().Deployed == 0 })
		}
		round(0)
		before := liveHeap()
		round(spares)
		require.Len(t, f.Group.Runtime().Stats().Workers, 1+spares)
		var each int64
		conntest.Eventually(t, func() bool { // when all have come to rest
			each = (liveHeap() - before - own) / spares
			return each < most
		})
		t.Logf("%d bytes each", each)
	})
}
