// Command tail measures how long messages take beside a handler that burns CPU: the latencies of an echo
// server's other connections while some connections keep it busy. bench/tail.sh runs it; bench/README.md
// says what the figures mean.
//
// The command is also its own servers and client, as child processes of their own. Contenders take turns within a round, and ratios are taken within rounds.
//
// The exit status is 1 if any run failed: a lost or a wrong echo, a contender that did not start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	serverCPUs  = 2 // workers and event loops of every contender, and its GOMAXPROCS
	messageSize = 64
	burnByte    = 'B' // the first byte of a message whose handler burns CPU
	burnFor     = 20 * time.Millisecond
)

// config is the parsed command line.
type config struct {
	Rounds      int           `json:"rounds"`
	Seconds     float64       `json:"seconds"`
	Warmup      float64       `json:"warmup_seconds"`
	Connections int           `json:"connections"`
	Slow        []int         `json:"slow"` // connections of them that burn, one workload each
	Rate        int           `json:"rate"` // messages per second of each of the others
	CPUs        string        `json:"server_cpus"`
	ClientCPU   string        `json:"client_cpu"` // "": shares the server's
	Priority    string        `json:"client_priority"`
	Burn        uint64        `json:"burn_iterations"`
	BurnTime    time.Duration `json:"burn_nanoseconds"`

	names []string // of the contenders
	json  string   // file to write, or ""
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("tail: ")
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			log.Fatal(serve(os.Args[2:]))
		case "load":
			if err := loadMain(os.Args[2:]); err != nil {
				log.Fatal(err)
			}
			return
		}
	}
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
	c := config{Connections: 100}
	var slow string
	f := flag.NewFlagSet("bench/tail.sh", flag.ExitOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: bench/tail.sh [flags] [contender…]\n\ncontenders: %s\n\n", strings.Join(allNames(), " "))
		f.PrintDefaults()
	}
	f.IntVar(&c.Rounds, "r", 3, "rounds; each runs every contender once per workload")
	f.Float64Var(&c.Seconds, "d", 2.5, "`seconds` that one run measures")
	f.Float64Var(&c.Warmup, "w", 0.5, "`seconds` of load before it measures")
	f.IntVar(&c.Connections, "c", 100, "`connections`, the slow ones included")
	f.StringVar(&slow, "slow", "1 8", "`connections` that burn, one workload for each number")
	f.IntVar(&c.Rate, "rate", 100, "`messages` per second of each other connection")
	f.StringVar(&c.CPUs, "cpus", "0,1", "two `CPUs` that the servers run on")
	f.StringVar(&c.ClientCPU, "client-cpu", "auto", "`CPU` of the client; auto: 2 if there is one, else it shares the servers'")
	f.StringVar(&c.Priority, "priority", "auto", "of the client: fifo, nice (-10) or none; auto: the first that is allowed")
	f.StringVar(&c.json, "json", "", "also write everything to this `file`")
	quick := f.Bool("quick", false, "under half a minute: one round of 1.5 s")
	f.Parse(args)

	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if *quick && !set["r"] {
		c.Rounds = 1
	}
	if *quick && !set["d"] {
		c.Seconds = 1.5
	}
	if c.ClientCPU == "auto" {
		c.ClientCPU = ""
		if runtime.NumCPU() > serverCPUs {
			c.ClientCPU = strconv.Itoa(serverCPUs)
		}
	}
	if c.names = f.Args(); len(c.names) == 0 {
		c.names = allNames()
	}
	for _, name := range c.names {
		if _, ok := servers[name]; !ok {
			return c, fmt.Errorf("there is no contender %q; there are %s", name, strings.Join(allNames(), " "))
		}
	}
	for _, field := range strings.Fields(slow) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n >= c.Connections {
			return c, fmt.Errorf("-slow: %q is no number of connections below -c", field)
		}
		c.Slow = append(c.Slow, n)
	}
	if c.Rounds < 1 || c.Seconds <= 0 || c.Warmup < 0 || c.Rate < 1 || len(c.Slow) == 0 {
		return c, errors.New("-r, -rate and the numbers in -slow start at 1, -d above 0, -w at 0")
	}
	return c, nil
}
