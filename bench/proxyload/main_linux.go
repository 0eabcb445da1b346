// Proxyload is both ends of bench/proxy.sh: the server behind the proxies, and their load.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/suiro-go/suiro/bench/load"
	"github.com/suiro-go/suiro/server"
)

func main() {
	serve := flag.Bool("serve", false, "be the server, and print its address")
	to := flag.String("to", "", "the proxy's address")
	pid := flag.Int("pid", 0, "the proxy's process")
	span := flag.Duration("for", 3*time.Second, "how long to measure")
	echo := flag.Bool("echo", false, "64 B there and back on 50 connections: µs of CPU for each message that passes")
	bulk := flag.Bool("bulk", false, "1 MiB at a time on 4 connections: GB for each second of CPU")
	many := flag.Bool("many", false, "5,000 connections that say something twice a second: p99 in ms")
	flag.Parse()
	var err error
	switch {
	case *serve:
		s := &server.Server{Addr: "127.0.0.1:0", Workers: 1, Handler: &origin{chunks: load.NewChunker()}, Listening: func(a net.Addr) { fmt.Println(a) }}
		err = s.ListenAndServe()
	case *echo:
		err = messages(*to, *pid, *span)
	case *bulk:
		err = stream(*to, *pid, *span)
	case *many:
		err = latency(*to, 5000, *span)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "proxyload:", err)
		os.Exit(1)
	}
}

// origin answers a byte with a mebibyte, and echoes anything else.
type origin struct {
	server.Base
	chunks *load.Chunker
}

// OnData implements server.Handler.
func (o *origin) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	if len(p) == 1 {
		p = o.chunks.Chunk(p[0])
	}
	_, err := c.Write(p)
	return err
}

func config(to string, pid int, span time.Duration) (load.Config, error) {
	a, err := netip.ParseAddrPort(to)
	return load.Config{Addr: a, PID: pid, Warmup: span / 3, For: span}, err
}

func messages(to string, pid int, span time.Duration) error {
	cfg, err := config(to, pid, span)
	if err != nil {
		return err
	}
	cfg.Conns, cfg.Size = 50, 64
	r, err := load.Echo(cfg)
	if err == nil {
		fmt.Printf(" %6.2f µs/message", float64(r.CPU.Microseconds())/float64(2*r.Count))
	}
	return err
}

func stream(to string, pid int, span time.Duration) error {
	cfg, err := config(to, pid, span)
	if err != nil {
		return err
	}
	cfg.Conns = 4
	r, err := load.Chunks(cfg)
	if err == nil {
		fmt.Printf(" %6.2f GB/cpu-s", float64(r.Bytes)/1e9/r.CPU.Seconds())
	}
	return err
}

// latency is of messages that come at random times, so that a slow answer keeps nobody from asking.
func latency(to string, conns int, span time.Duration) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	open := make([]net.Conn, conns)
	for i := range open {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i))}}
		c, err := d.Dial("tcp", to)
		if err != nil {
			return err
		}
		defer c.Close()
		open[i] = c
	}
	for _, c := range open { // the proxy has connected on
		if err := exchange(c, make([]byte, 64)); err != nil {
			return err
		}
	}
	begin := time.Now()
	warm, end := begin.Add(span/3), begin.Add(span+span/3)
	for _, c := range open {
		all.Go(func() {
			p := make([]byte, 64)
			var mine []time.Duration
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, mine...)
			}()
			for {
				time.Sleep(time.Duration(rand.Int64N(int64(time.Second))))
				at := time.Now()
				if at.After(end) {
					return
				}
				if err := exchange(c, p); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				if at.After(warm) {
					mine = append(mine, time.Since(at))
				}
			}
		})
	}
	all.Wait()
	if failed != nil || len(took) == 0 {
		return fmt.Errorf("%d answers: %w", len(took), failed)
	}
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	fmt.Printf("  p50 %6.2f p99 %7.2f ms", at(0.5), at(0.99))
	return nil
}

func exchange(c net.Conn, p []byte) error {
	_, err := c.Write(p)
	if err == nil {
		_, err = io.ReadFull(c, p)
	}
	return err
}
