package server_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/server"
)

// benchTLS is the address of an echo with TLS of some kind.
func benchTLS(b *testing.B, kind string, cfg *tls.Config) net.Addr {
	b.Helper()
	if kind == "net" {
		ln, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
		require.NoError(b, err)
		b.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					p := make([]byte, 64<<10)
					for {
						n, err := c.Read(p)
						if err != nil {
							return
						}
						if _, err := c.Write(p[:n]); err != nil {
							return
						}
					}
				}()
			}
		}()
		return ln.Addr()
	}
	var h server.Handler = echo{}
	if kind == "streams" {
		h = server.Sequential(echoStream)
	}
	listening := make(chan net.Addr, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: h, TLS: cfg, Listening: func(a net.Addr) { listening <- a }}
	s.Conn.Linger = 200 * time.Millisecond
	go func() { _ = s.ListenAndServe() }()
	b.Cleanup(func() { _ = s.Close() })
	return <-listening
}

// What TLS costs, echoes and handshakes, beside a goroutine for each connection over
// package net; the clients are crypto/tls's over package net, in the same process. The
// CPU time is theirs as well.
func BenchmarkTLS(b *testing.B) {
	cert, pool := certificate(b)
	cfg, client := &tls.Config{Certificates: []tls.Certificate{cert}}, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	for _, kind := range []string{"net", "callbacks", "streams"} {
		b.Run("handshake/"+kind, func(b *testing.B) {
			addr := benchTLS(b, kind, cfg)
			before := processTime()
			b.SetParallelism(8)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					c, err := tls.Dial("tcp", addr.String(), client)
					if err != nil {
						b.Error(err)
						return
					}
					_ = c.Close()
				}
			})
			b.ReportMetric(float64(processTime()-before)/float64(b.N), "cpu-ns/op")
		})
	}
	for _, size := range []int{64, 16 << 10} {
		for _, kind := range []string{"net", "callbacks", "streams"} {
			b.Run(fmt.Sprintf("echo/bytes=%d/%s", size, kind), func(b *testing.B) {
				benchTLSEcho(b, benchTLS(b, kind, cfg), client, size)
			})
		}
	}
}

func benchTLSEcho(b *testing.B, addr net.Addr, cfg *tls.Config, size int) {
	const conns = 64
	all := make([]*tls.Conn, conns)
	for i := range all {
		c, err := tls.Dial("tcp", addr.String(), cfg)
		require.NoError(b, err)
		defer c.Close()
		all[i] = c
	}
	b.SetBytes(int64(size))
	turns, errs := make(chan struct{}, conns), make(chan error, conns)
	before := processTime()
	b.ResetTimer()
	for _, c := range all {
		go func() {
			p := make([]byte, size)
			var err error
			for range turns {
				if _, err = c.Write(p); err != nil {
					break
				}
				if _, err = io.ReadFull(c, p); err != nil {
					break
				}
			}
			errs <- err
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
