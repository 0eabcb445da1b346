package server_test

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/server"
)

// BenchmarkScrape measures round trips on one of 100 connections. The server's figures are not read
// meanwhile, or every 10 ms, a thousand times as often as Prometheus does. Compare the p99 of pairs
// of runs.
func BenchmarkScrape(b *testing.B) {
	for _, c := range []struct {
		name  string
		every time.Duration
	}{{"never", 0}, {"every 10 ms", 10 * time.Millisecond}} {
		b.Run(c.name, func(b *testing.B) { benchScrape(b, c.every) })
	}
}

func benchScrape(b *testing.B, every time.Duration) {
	at, served := make(chan net.Addr, 1), make(chan error, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: echo{}, Workers: 1, Listening: func(a net.Addr) { at <- a }}
	go func() { served <- s.ListenAndServe() }()
	addr := (<-at).String()
	defer func() {
		_ = s.Close()
		<-served
	}()
	var c net.Conn
	for range 100 {
		var err error
		if c, err = net.Dial("tcp", addr); err != nil {
			b.Fatal(err)
		}
		defer c.Close()
	}
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for every > 0 {
			select {
			case <-stop:
				stopped <- n
				return
			case <-time.After(every):
				_ = metrics.WritePrometheus(io.Discard, s.Metrics())
				n++
			}
		}
		<-stop
		stopped <- n
	}()
	message, all := make([]byte, 64), make([]time.Duration, 0, 1<<16)
	for b.Loop() {
		began := time.Now()
		if _, err := c.Write(message); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, message); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	close(stop)
	b.ReportMetric(float64(<-stopped), "scrapes")
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds()), "p99-ns")
}
