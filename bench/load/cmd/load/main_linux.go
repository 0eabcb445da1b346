// Command load loads a server on the loopback and reports the results as JSON.
//
//	load -kind echo -c 50 -d 2s 127.0.0.1:9000
//	load -kind http -c 500 -depth 16 -pid 1234 127.0.0.1:8080
//	load -kind echo -rate 20000 127.0.0.1:9000
//
// Kinds: echo, http, redis, chunks, udp, churn, slow-readers and idle; package load describes them.
// idle prints "ready" when all connections are open, and holds them until its standard input ends.
// slow-readers does so after its time of slow reading. The exit status is 1 after a wrong byte or
// any other failure. It is 3 if there was no failure, but no answer in time (load.ErrNothing).
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("load: ")
	var cfg load.Config
	kind := flag.String("kind", "echo", "what to do")
	flag.IntVar(&cfg.Conns, "c", 50, "`connections` at a time, or sockets")
	flag.IntVar(&cfg.Size, "size", 64, "`bytes` of a message")
	flag.IntVar(&cfg.Depth, "depth", 1, "`messages` in flight on each connection, in a closed loop")
	flag.Float64Var(&cfg.Rate, "rate", 0, "`messages` per second of all, in an open loop; 0: a closed one")
	flag.BoolVar(&cfg.Random, "random", false, "in an open loop: at random times and not at even intervals")
	flag.BoolVar(&cfg.Spin, "spin", false, "in an open loop: poll rather than wait, on a CPU of its own")
	flag.IntVar(&cfg.Slow, "slow", 0, "of the `connections`: a closed loop of messages that begin with B")
	flag.IntVar(&cfg.Marked, "marked", 0, "of echo in an open loop: one of so many `messages` begins with B; 0: none")
	flag.IntVar(&cfg.Origin, "origin", 0, "of echo in an open loop: the `descriptor` of a listening socket, to be the server behind a proxy")
	flag.BoolVar(&cfg.TLS, "tls", false, "within TLS")
	flag.DurationVar(&cfg.Warmup, "w", 300*time.Millisecond, "`time` before it measures")
	flag.DurationVar(&cfg.For, "d", 2*time.Second, "`time` for which it measures")
	flag.IntVar(&cfg.PID, "pid", 0, "the server's process")
	flag.IntVar(&cfg.ReadRate, "read-rate", 64<<10, "`bytes` per second of a slow reader")
	flag.StringVar(&cfg.Priority, "priority", "none", "auto, fifo, nice or none")
	flag.StringVar(&cfg.Reply, "reply", "Hello, World!", "of http: the `body` that must come back; of idle with a -path: all of it")
	path := flag.String("path", "", "of http, and of idle if it is to speak that: what to ask for")
	flag.Parse()
	var err error
	if cfg.Addr, err = netip.ParseAddrPort(flag.Arg(0)); err != nil || flag.NArg() != 1 {
		log.Fatalf("one address is needed, of IPv4: %q", flag.Args())
	}
	if *path != "" || *kind == "http" {
		if *path == "" {
			*path = "/plaintext"
		}
		cfg.Request = fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", *path, cfg.Addr)
	}
	r, err := run(*kind, cfg)
	if err != nil {
		log.Print(strings.TrimPrefix(err.Error(), "load: "))
		if errors.Is(err, load.ErrNothing) {
			os.Exit(3)
		}
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		log.Fatal(err)
	}
}

func run(kind string, cfg load.Config) (load.Result, error) {
	hold := func() {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	switch kind {
	case "idle":
		return load.Result{Count: int64(cfg.Conns)}, load.Idle(cfg, hold)
	case "slow-readers":
		return load.SlowReaders(cfg, hold)
	}
	measure := map[string]func(load.Config) (load.Result, error){
		"echo": load.Echo, "http": load.HTTP, "redis": load.Redis, "chunks": load.Chunks, "udp": load.Packets, "churn": load.Churn,
	}[kind]
	if measure == nil {
		return load.Result{}, fmt.Errorf("there is no kind %q", kind)
	}
	return measure(cfg)
}
