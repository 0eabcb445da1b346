// Command conns measures what connections cost a server: memory while they are idle, CPU time to accept, serve and
// close one, and CPU time per message and per mebibyte. bench/conns.sh runs it; bench/README.md says what the
// figures mean.
//
// The command is also its own servers and load, as child processes of their own: the server on one CPU, the load
// (package bench/load) on another. Contenders take turns within a round, and ratios are taken within rounds.
//
// The exit status is 1 if any run failed: a wrong byte, a connection that ended, a contender that did not start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// config is the parsed command line.
type config struct {
	Rounds    int      `json:"rounds"`
	Seconds   float64  `json:"seconds"`
	Warmup    float64  `json:"warmup_seconds"`
	Idle      int      `json:"idle_connections"`
	ServerCPU string   `json:"server_cpu"`
	LoadCPU   string   `json:"load_cpu"`
	Bases     []string `json:"bases"`      // ratios are taken to these
	Names     []string `json:"contenders"` // what is measured

	workloads []workload
	json      string // file to write, or ""
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("conns: ")
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			log.Fatal(serveMain(os.Args[2:]))
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
	var c config
	var names, bases string
	f := flag.NewFlagSet("bench/conns.sh", flag.ExitOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: bench/conns.sh [flags] [workload…]\n\nworkloads: %s\n(echo64 stands for all that begin so)\n"+
			"contenders: %s\n\n", strings.Join(workloadNames(), " "), strings.Join(serverNames(), " "))
		f.PrintDefaults()
	}
	f.IntVar(&c.Rounds, "r", 3, "rounds; each runs every contender once per workload")
	f.Float64Var(&c.Seconds, "d", 2, "`seconds` that one run measures")
	f.Float64Var(&c.Warmup, "w", 0.3, "`seconds` of load before it measures")
	f.IntVar(&c.Idle, "idle", 15000, "`connections` of the workload idle")
	f.StringVar(&c.ServerCPU, "server-cpu", "0", "`CPU` that the servers run on")
	f.StringVar(&c.LoadCPU, "load-cpu", "1", "`CPU` that the load runs on")
	f.StringVar(&names, "s", "net gnet suiro/io_uring suiro/epoll", "`contenders`, or all; suiro/epoll@FILE is that one of another build of this command")
	f.StringVar(&bases, "base", "net gnet", "`contenders` to take ratios to")
	f.StringVar(&c.json, "json", "", "also write everything to this `file`")
	quick := f.Bool("quick", false, "under a minute: one round of 1 s, 5,000 idle connections")
	f.Parse(args)

	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if *quick {
		for name, value := range map[string]string{"r": "1", "d": "1", "idle": "5000"} {
			if !set[name] {
				_ = f.Set(name, value)
			}
		}
	}
	if names == "all" {
		names = strings.Join(serverNames(), " ")
	}
	c.Names, c.Bases = strings.Fields(names), strings.Fields(bases)
	for _, name := range c.Names {
		if server, _ := split(name); servers[server] == nil {
			return c, fmt.Errorf("there is no contender %q; there are %s", name, strings.Join(serverNames(), " "))
		}
	}
	c.Bases = slices.DeleteFunc(c.Bases, func(b string) bool { return !slices.Contains(c.Names, b) })
	var err error
	if c.workloads, err = chooseWorkloads(f.Args()); err != nil {
		return c, err
	}
	if c.Rounds < 1 || c.Seconds <= 0 || c.Warmup < 0 || c.Idle < 1 || len(c.Names) == 0 {
		return c, errors.New("-r and -idle start at 1, -d above 0, -w at 0, and -s names a contender")
	}
	return c, nil
}
