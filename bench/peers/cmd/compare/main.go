// Command compare measures Suiro's plaintext server against its peers and against two C servers as the
// limit. bench/http.sh runs it; bench/README.md says what the figures mean.
//
// Every contender is one process on one CPU with wrk on another. Contenders take turns within a round, so
// that a machine that slows down slows all of them down, and ratios are taken within rounds.
//
// The exit status is 1 if any run had a socket error or a response that was not a success, or if a
// contender was missing.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// config is the parsed command line.
type config struct {
	Root      string   `json:"-"` // the repository
	Rounds    int      `json:"rounds"`
	Seconds   int      `json:"seconds"`
	Warmup    int      `json:"warmup_seconds"`
	Depth     int      `json:"pipeline_depth"`
	ServerCPU int      `json:"server_cpu"`
	LoadCPU   int      `json:"load_cpu"`
	Repeat    int      `json:"repeat"` // times to repeat a run that others disturbed
	Bases     []string `json:"bases"`  // ratios are taken against these

	plain, piped []int  // connections of the workloads without and with pipelining
	json         string // file to write, or ""
	quick        bool
	names        []string // contenders asked for; all if empty
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("compare: ")
	cfg, err := parse(os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	if !ok {
		os.Exit(1)
	}
}

func parse(args []string) (config, error) {
	var c config
	var plain, piped, bases string
	f := flag.NewFlagSet("bench/http.sh", flag.ExitOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: bench/http.sh [flags] [contender…]\n\ncontenders: %s\n"+
			"(suiro and gnet stand for both of theirs)\n\n", strings.Join(allNames(), " "))
		f.PrintDefaults()
	}
	f.StringVar(&c.Root, "root", ".", "the repository's root `directory`")
	f.IntVar(&c.Rounds, "r", 5, "rounds; each runs every contender once per workload")
	f.IntVar(&c.Seconds, "d", 5, "`seconds` that one run measures")
	f.IntVar(&c.Warmup, "w", 1, "`seconds` of load before it measures")
	f.StringVar(&plain, "c", "50 500", "`connections` of the workloads without pipelining")
	f.StringVar(&piped, "p", "50", "`connections` of the pipelined workloads; empty for none")
	f.IntVar(&c.Depth, "depth", 16, "requests in one pipeline")
	f.IntVar(&c.ServerCPU, "server-cpu", 0, "`CPU` that the servers run on")
	f.IntVar(&c.LoadCPU, "load-cpu", 1, "`CPU` that wrk runs on")
	f.IntVar(&c.Repeat, "repeat", 0, "`times` to repeat a run without errors that others disturbed")
	f.StringVar(&bases, "base", "suiro/io_uring suiro/epoll", "`contenders` to take ratios against")
	f.StringVar(&c.json, "json", "", "also write everything to this `file`")
	f.BoolVar(&c.quick, "quick", false, "under a minute: 2 rounds of 2 s, 50 connections, Suiro and gnet only")
	f.Parse(args)

	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	c.names = f.Args()
	if c.quick {
		if !set["r"] {
			c.Rounds = 2
		}
		if !set["d"] {
			c.Seconds = 2
		}
		if !set["c"] {
			plain = "50"
		}
		if len(c.names) == 0 {
			c.names = []string{"suiro", "gnet-coalesced"}
		}
	}
	c.Bases = strings.Fields(bases)
	var err error
	if c.plain, err = numbers(plain); err != nil {
		return c, fmt.Errorf("-c: %w", err)
	}
	if c.piped, err = numbers(piped); err != nil {
		return c, fmt.Errorf("-p: %w", err)
	}
	if c.Rounds < 1 || c.Seconds < 1 || c.Warmup < 0 || c.Depth < 1 {
		return c, fmt.Errorf("-r, -d and -depth start at 1, -w at 0")
	}
	return c, nil
}

func numbers(s string) ([]int, error) {
	var ns []int
	for _, f := range strings.Fields(s) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of connections", f)
		}
		ns = append(ns, n)
	}
	return ns, nil
}
