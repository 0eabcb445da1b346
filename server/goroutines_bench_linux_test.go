package server_test

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// An echo with a goroutine for each connection, over package net's sockets and ours;
// the clients are package net's, in the same process. In one run, so that the ratios
// mean something.
func BenchmarkEchoByGoroutines(b *testing.B) {
	for _, n := range []int{1, 64} {
		for _, size := range []int{64, 16 << 10} {
			for _, kind := range []string{"net", "epoll", "io_uring"} {
				b.Run(fmt.Sprintf("conns=%d/bytes=%d/%s", n, size, kind), func(b *testing.B) {
					benchEcho(b, benchListener(b, kind), n, size)
				})
			}
		}
	}
}

func benchListener(b *testing.B, kind string) net.Listener {
	var ln net.Listener
	var err error
	if kind == "net" {
		ln, err = net.Listen("tcp", "127.0.0.1:0")
	} else {
		s := &server.Server{Backend: kind}
		b.Cleanup(func() { _ = s.Close() })
		ln, err = s.Listen("tcp", "127.0.0.1:0")
	}
	require.NoError(b, err)
	b.Cleanup(func() { _ = ln.Close() })
	conntest.ServeEach(ln, func(_ int, c net.Conn) { conntest.Echo(c); _ = c.Close() })
	return ln
}

// processTime is the CPU time that the process has used: what a busy machine changes least.
func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchEcho(b *testing.B, ln net.Listener, conns, size int) {
	all := make([]net.Conn, conns)
	for i := range all {
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(b, err)
		defer c.Close()
		all[i] = c
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	turns := make(chan struct{}, conns)
	errs := make(chan error, conns)
	before := processTime()
	b.ResetTimer()
	for _, c := range all {
		go func() {
			p := make([]byte, size)
			for range turns {
				if _, err := c.Write(p); err != nil {
					errs <- err
					return
				}
				if _, err := io.ReadFull(c, p); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range b.N {
		turns <- struct{}{}
	}
	close(turns)
	for range all {
		require.NoError(b, <-errs)
	}
	b.ReportMetric(float64(processTime()-before)/float64(b.N), "cpu-ns/op")
}
