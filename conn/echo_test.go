package conn_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/conntest"
)

// noise is random bytes to send pieces of; few offsets in it look alike.
var noise = func() []byte {
	p := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(p)
	return p
}()

// piece is n bytes of noise from a random place.
func piece(r *rand.Rand, n int) []byte {
	at := r.IntN(len(noise) - n + 1)
	return noise[at : at+n]
}

// roundTrip sends p in random pieces to a server that echoes, and compares.
func roundTrip(c net.Conn, r *rand.Rand, p []byte) error {
	sent := make(chan error, 1)
	seed := r.Uint64()
	go func() {
		r := rand.New(rand.NewPCG(seed, 0))
		for rest := p; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(1+r.IntN(64<<10)))
			if _, err := c.Write(rest[:n]); err != nil {
				sent <- err
				return
			}
			rest = rest[n:]
		}
		sent <- nil
	}()
	back := make([]byte, len(p))
	n, err := io.ReadFull(c, back)
	if err != nil {
		return fmt.Errorf("%d of %d bytes came back: %w", n, len(p), err)
	}
	if !bytes.Equal(p, back) {
		return fmt.Errorf("%d bytes came back changed", n)
	}
	return <-sent
}

// Scenario 57.
func TestEveryByteOfManyConnectionsComesBackInOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		n := 1000
		if testing.Short() {
			n = 200
		}
		var open atomic.Int64
		all := make(chan struct{})
		conntest.Each(t, n, func(i int) error {
			c, err := dial(f.addr)
			if err != nil {
				return err
			}
			defer c.Close()
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

// Scenario 76.
func TestNothingIsLostWhenBuffersRunOut(t *testing.T) {
	for _, shape := range []struct{ buffers, size int }{{1, 64}, {2, 4096}, {4, 1000}} {
		t.Run(fmt.Sprintf("%d of %d bytes", shape.buffers, shape.size), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				f := serve(t, backend, workers, funcs{data: echo}, func(cfg *conn.Config) {
					cfg.Reactor.Buffers, cfg.Reactor.BufferSize = shape.buffers, shape.size
				})
				conntest.Each(t, 50, func(i int) error {
					c, err := dial(f.addr)
					if err != nil {
						return err
					}
					defer c.Close()
					r := rand.New(rand.NewPCG(uint64(i), 76))
					return roundTrip(c, r, piece(r, 200*shape.size*shape.buffers/(1+i%3)%(256<<10)+1))
				})
			})
		})
	}
}

// Scenario 61.
func TestSignalsDoNotDisturbAnEcho(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGUSR1)
		defer signal.Stop(got)
		f := serve(t, backend, workers, funcs{data: echo})
		stop, stopped := make(chan struct{}), make(chan int)
		go func() {
			fired := 0
			defer func() { stopped <- fired }()
			for {
				threads, _ := os.ReadDir("/proc/self/task")
				for _, th := range threads {
					tid, _ := strconv.Atoi(th.Name())
					if syscall.Tgkill(syscall.Getpid(), tid, syscall.SIGUSR1) == nil {
						fired++
					}
				}
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
				}
			}
		}()
		conntest.Each(t, 8, func(i int) error {
			c, err := dial(f.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			r := rand.New(rand.NewPCG(uint64(i), 61))
			for range 30 {
				if err := roundTrip(c, r, piece(r, 1+r.IntN(20<<10))); err != nil {
					return err
				}
			}
			return nil
		})
		close(stop)
		require.Greater(t, conntest.Receive(t, stopped), 50, "signals fired")
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Zero(t, f.log.Count("ERROR"), "%v", f.log)
	})
}
