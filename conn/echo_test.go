package conn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestEveryByteOfManyConnectionsComesBackInOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		n := 1000
		if testing.Short() {
			n = 200
		}
		var open atomic.Int64
		all := make(chan struct{})
		f.each(n, func(i int, c net.Conn) error {
			if open.Add(1) == int64(n) {
				close(all)
			}
			<-all // every one is open at once
			r := rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))
			size := int(math.Exp2(r.Float64() * 18)) // 1 B to 256 KB, small ones as often as large
			return roundTrip(c, r, piece(r, size))
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.EqualValues(t, n, f.audit.closed.Load())
	})
}

func TestNothingIsLostWhenBuffersRunOut(t *testing.T) {
	for _, shape := range []struct{ buffers, size int }{{1, 64}, {2, 4096}, {4, 1000}} {
		t.Run(fmt.Sprintf("%d of %d bytes", shape.buffers, shape.size), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				f := serve(t, backend, workers, funcs{data: echo}, func(cfg *conn.Config) {
					cfg.Reactor.Buffers, cfg.Reactor.BufferSize = shape.buffers, shape.size
				})
				f.each(50, func(i int, c net.Conn) error {
					r := rand.New(rand.NewPCG(uint64(i), 76))
					return roundTrip(c, r, piece(r, 1+shape.size*shape.buffers*40/(1+i%3)))
				})
			})
		})
	}
}
