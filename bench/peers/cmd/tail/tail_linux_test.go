package main

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	var times []time.Duration
	for i := range 101 {
		times = append(times, time.Duration(100-i)*time.Microsecond)
	}
	if got, want := quantilesOf(times), (quantiles{50, 90, 99, 100}); got != want {
		t.Errorf("quantiles %v, want %v", got, want)
	}
	if got := quantilesOf(nil); got != (quantiles{}) {
		t.Errorf("quantiles of nothing: %v", got)
	}
}

func TestRatiosAreTakenWithinRounds(t *testing.T) {
	at := func(round int, p50 float64) sample {
		return sample{Round: round, Result: result{Latency: quantiles{P50: p50}}}
	}
	own := []sample{at(0, 2), at(1, 30), at(2, 100)}
	bases := []sample{at(0, 1), at(1, 10), at(3, 1)} // 2, 3 and no pair
	if got := ratioTo(own, bases, p50); got != "2.50" {
		t.Errorf("ratio %s, want the mean of the two in the middle, 2.50", got)
	}
	if got := ratioTo(own, nil, p50); got != "–" {
		t.Errorf("ratio to nothing: %s", got)
	}
}

// echo is a server that changes the bytes of burning messages to c, if not 0.
func echo(t *testing.T, c byte) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				p := make([]byte, messageSize)
				for {
					if _, err := io.ReadFull(conn, p); err != nil {
						return
					}
					if p[0] == burnByte && c != 0 {
						p[messageSize-1] = c
					}
					if _, err := conn.Write(p); err != nil {
						return
					}
				}
			}()
		}
	}()
	return ln.Addr().String()
}

func testLoad(t *testing.T, addr string) *load {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("the client keeps a processor")
	}
	return &load{addr: addr, slow: 2, others: 5, rate: 100, warm: 20 * time.Millisecond, end: 120 * time.Millisecond, priority: "none"}
}

func TestLoadCountsEveryEcho(t *testing.T) {
	l := testLoad(t, echo(t, 0))
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	r := l.result()
	if r.Messages != 50 || len(l.late) != 50 { // 5 connections, 100 a second each, a tenth of a second
		t.Errorf("%d messages, %d sent; want 50", r.Messages, len(l.late))
	}
	if r.SlowRate == 0 {
		t.Error("no echo of a slow connection was counted")
	}
	if r.Latency.P50 <= 0 || r.Latency.P50 > r.Latency.Max || r.Late.P50 > r.Latency.Max {
		t.Errorf("latency %v, lateness %v", r.Latency, r.Late)
	}
}

func TestLoadRefusesAWrongEcho(t *testing.T) {
	if err := testLoad(t, echo(t, 'x')).run(); err == nil {
		t.Error("a wrong echo was taken for right")
	}
}
