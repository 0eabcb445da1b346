//go:build long

package conn_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

const (
	slowReaders = 10_000
	slowCeiling = 64 << 20
	slowAnswer  = 1 << 20
)

// It moves 10 GB for each backend: a lane of its own, make long, runs it.
//
// Ten thousand ask for a megabyte each and read when it comes to it, a little at a time.
// The server, a process of its own for the sake of descriptors, is asked for 10 GB in
// all, and keeps within its 64 MiB and what the runs under way add.
func TestTenThousandSlowReadersAreServedBelowTheMemoryCeiling(t *testing.T) {
	if backend := os.Getenv("CONN_TEST_SLOW"); backend != "" {
		slowServer(t, backend)
		return
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTenThousandSlowReadersAreServedBelowTheMemoryCeiling$")
		cmd.Env = append(os.Environ(), "CONN_TEST_SLOW="+backend)
		cmd.Stderr = os.Stderr
		stop, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer func() {
			_ = stop.Close()
			_ = cmd.Wait()
		}()
		said := bufio.NewReader(stdout)
		var addr string
		_, err = fmt.Fscanf(said, "listening %s\n", &addr)
		require.NoError(t, err)

		conns := make([]net.Conn, slowReaders)
		for i := range conns {
			c, err := net.DialTimeout("tcp", addr, conntest.Patience)
			require.NoError(t, err)
			defer c.Close()
			conns[i] = small(c)
		}
		for _, c := range conns { // now that all are in: nobody is accepted while memory is short
			_, err := c.Write([]byte("me"))
			require.NoError(t, err)
		}
		got := make([][16 << 10]byte, slowReaders)
		conntest.Crowd(t, slowReaders, slowReaders, func(i int) error {
			for at := 0; at < slowAnswer; at += len(got[i]) {
				// The wait is bounded because some reader is always served.
				_ = conns[i].SetReadDeadline(time.Now().Add(5 * conntest.Patience))
				if _, err := io.ReadFull(conns[i], got[i][:]); err != nil {
					return err
				}
				if !bytes.Equal(got[i][:], noise[at:at+len(got[i])]) {
					return errors.New("an answer has changed")
				}
			}
			return nil
		})
		require.NoError(t, stop.Close())
		var buffered, idle, heap int64
		_, err = fmt.Fscanf(said, "buffered %d heap %d, then %d\n", &buffered, &idle, &heap)
		require.NoError(t, err)
		t.Logf("the server had at most %d MiB buffered, and a heap of %d MiB; without connections %d", buffered>>20, heap>>20, idle>>20)
		require.LessOrEqual(t, buffered, int64(slowCeiling/4*3+3*slowAnswer), "three quarters, and what the runs under way add")
		require.LessOrEqual(t, heap, 3*(idle+slowCeiling), "the collector lets a heap double, and pools keep what nobody uses over two collections")
	})
}

// slowServer answers until its standard input ends, and then says how much it had.
func slowServer(t *testing.T, backend string) {
	var buffered, heap atomic.Int64
	highest := func(most *atomic.Int64, now int64) {
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
	}
	f := serve(t, backend, 2, funcs{
		open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
		data: func(c *conn.Conn) error {
			if _, err := c.Discard(-1); err != nil {
				return err
			}
			_, err := c.Write(noise[:slowAnswer])
			highest(&buffered, int64(c.Group().Buffered()+slowAnswer))
			return err
		},
	}, func(cfg *conn.Config) { cfg.MaxMemory, cfg.WriteTimeout = slowCeiling, 5*conntest.Patience })
	runtime.GC()
	idle := heapBytes()
	ended := make(chan struct{})
	go func() {
		for {
			highest(&heap, heapBytes())
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	fmt.Printf("listening %s\n", f.addr)
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(ended)
	fmt.Printf("buffered %d heap %d, then %d\n", buffered.Load(), idle, heap.Load())
}

func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
