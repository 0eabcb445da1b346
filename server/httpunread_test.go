package server_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC() // once: what pools of package sync have survives it
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A body that no handler reads stays in the kernel, but for a buffer of the reactor, and with TLS a
// few records.
func TestABodyThatNoHandlerReadsStaysInTheKernel(t *testing.T) {
	const clients, step, steps = 30, 512 << 10, 6
	var begun atomic.Int64
	var release chan bool
	withAndWithoutTLS(t, func() *http.Server {
		begun.Store(0)
		release = make(chan bool)
		until := release
		return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begun.Add(1)
			<-until
		})}
	}, func(h *httpSide) {
		defer close(release)
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = h.dial().Conn
		}
		body := make([]byte, step) // one for all: on Windows a connection refers to what it has written last
		before := heapInUse()
		var all sync.WaitGroup
		for _, c := range conns {
			all.Go(func() {
				_, _ = c.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"))
				raw := c
				if s, ok := c.(*tls.Conn); ok {
					raw = s.NetConn()
				}
				for range steps {
					_ = raw.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
					_, _ = c.Write(body)
				}
			})
		}
		all.Wait()
		conntest.Eventually(h.T, func() bool { return begun.Load() == clients })
		require.Less(h, (heapInUse()-before)/clients, int64(perUnread))
	})
}

// perUnread bounds the heap that a request and its client hold, while nobody reads the body. It is
// a sixth of the body so far. On Windows receives in flight have buffers of their own.
const perUnread = 512 << 10
