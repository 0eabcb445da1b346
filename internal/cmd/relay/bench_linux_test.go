package main

import (
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
)

// each runs a benchmark on a relay of each backend, with pipes and without.
func each(b *testing.B, pipes []int, f func(b *testing.B, p *conntest.Program, ln net.Listener)) {
	for _, backend := range reactor.Backends() {
		for _, n := range pipes {
			b.Run(backend+map[int]string{0: "", -1: "/copied"}[n], func(b *testing.B) {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(b, err)
				defer ln.Close()
				f(b, conntest.Start(b, program, "-to", ln.Addr().String(), "-backend", backend, "-workers", "1", "-pipes", strconv.Itoa(n)), ln)
			})
		}
	}
}

func pair(b *testing.B, p *conntest.Program, ln net.Listener) (client, origin net.Conn) {
	client, err := net.Dial("tcp", p.Addr)
	require.NoError(b, err)
	origin, err = ln.Accept()
	require.NoError(b, err)
	b.Cleanup(func() {
		_ = client.Close()
		_ = origin.Close()
	})
	return client, origin
}

// BenchmarkBulk streams in writes of 1 MiB, each an iteration.
func BenchmarkBulk(b *testing.B) {
	each(b, []int{0, -1}, func(b *testing.B, p *conntest.Program, ln net.Listener) {
		client, origin := pair(b, p, ln)
		const size = 1 << 20
		b.SetBytes(size)
		buf, room := make([]byte, size), make([]byte, 256<<10)
		before := p.CPU()
		b.ResetTimer()
		go func() {
			for range b.N {
				if _, err := client.Write(buf); err != nil {
					return
				}
			}
		}()
		for left := b.N * size; left > 0; {
			n, err := origin.Read(room)
			if err != nil {
				b.Fatal(err)
			}
			left -= n
		}
		b.ReportMetric(float64(b.N)*size/1e9/(p.CPU()-before), "GB/cpu-s")
	})
}

// BenchmarkMessage sends 64 bytes there and back, on 32 connections at a time.
func BenchmarkMessage(b *testing.B) {
	each(b, []int{0}, func(b *testing.B, p *conntest.Program, ln net.Listener) {
		const conns = 32
		clients := make([]net.Conn, conns)
		for i := range clients {
			var origin net.Conn
			clients[i], origin = pair(b, p, ln)
			go conntest.Echo(origin)
		}
		done := make(chan error, conns)
		before := p.CPU()
		b.ResetTimer()
		for i, c := range clients {
			go func() {
				m := make([]byte, 64)
				for range b.N/conns + min(1, max(0, b.N%conns-i)) {
					if _, err := c.Write(m); err != nil {
						done <- err
						return
					}
					if _, err := io.ReadFull(c, m); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range clients {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric((p.CPU()-before)*1e6/float64(b.N)/2, "proxy-µs/message")
	})
}
