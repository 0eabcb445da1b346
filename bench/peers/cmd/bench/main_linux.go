// Command bench measures Suiro beside its peers. go run ./bench, which builds it, is how it is run;
// bench/README.md says what the figures mean.
//
// Servers and load (package bench/load) are processes on CPUs of their own. Contenders take turns
// within a round, and ratios are taken within rounds. Progress goes to standard error, the report
// to standard output.
//
// The exit status is 1 if any run failed, a contender of -peers could not be built, or -guard found
// something worse.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// config is the parsed command line.
type config struct {
	Rounds    int      `json:"rounds"`
	Seconds   float64  `json:"seconds"`
	Warmup    float64  `json:"warmup_seconds"`
	Idle      int      `json:"idle_connections"`
	ServerCPU string   `json:"server_cpu"`
	LoadCPU   string   `json:"load_cpu"`
	Repeat    int      `json:"repeat"`
	Command   string   `json:"command"`
	Names     []string `json:"peers"` // as asked for; none: those of each workload

	Root string `json:"-"` // of the repository
	Bin  string `json:"-"` // where binaries are

	workloads []workload
	json      string
	results   string // directory of RESULTS.md, or ""
	render    string // file of an earlier run, which is shown and not measured, or ""
	budget    time.Duration
	burn      string // iterations, when they are known
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	ok, err := execute(os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	if !ok {
		os.Exit(1)
	}
}

// execute runs the command line. ok is false if a ratio to package net is worse than its baseline.
func execute(args []string) (ok bool, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cfg, guard, err := parse(args)
	if err != nil {
		return false, err
	}
	if err := raiseFiles(); err != nil {
		return false, err
	}
	unlock, err := lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	do := run
	switch {
	case guard != nil:
		do = guard.run
	case cfg.render != "":
		do = render
	}
	return do(ctx, cfg)
}

func parse(args []string) (cfg config, g *guard, err error) {
	f := flag.NewFlagSet("go run ./bench", flag.ExitOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: go run ./bench [flags]\n\nworkloads: %s\npeers: %s\n\n",
			strings.Join(workloadNames(), " "), strings.Join(contenderNames(), " "))
		f.PrintDefaults()
	}
	var peers, workloads string
	var guarded, update bool
	quick := f.Bool("quick", false, "within a minute: five workloads, gnet and net, 2 rounds")
	f.StringVar(&peers, "peers", "", "`contenders`, separated by commas, or all; suiro is added unless some of it is named. "+
		"suiro/epoll@PATH is that of another build: a server's binary, or a directory of -bin. Without it: those of each workload")
	f.StringVar(&workloads, "workloads", "", "`names`, separated by commas; echo64 stands for all that begin so, "+
		"http-50:conns=5000:depth=4 for one with other numbers (conns, size, depth, slow, marked, rate); all")
	f.StringVar(&cfg.json, "json", "", "also write everything to this `file`")
	f.StringVar(&cfg.results, "results", "", "also write RESULTS.md and a plot for each workload to this `directory`")
	f.StringVar(&cfg.render, "render", "", "measure nothing, and show what an earlier run has written by -json to this `file`")
	f.IntVar(&cfg.Rounds, "r", 3, "rounds; each runs every contender once per workload")
	f.Float64Var(&cfg.Seconds, "d", 0.6, "`seconds` that one run measures")
	f.Float64Var(&cfg.Warmup, "w", 0.2, "`seconds` of load before it measures")
	f.IntVar(&cfg.Idle, "idle", 10000, "`connections` of the workloads idle and http-idle")
	f.StringVar(&cfg.ServerCPU, "server-cpu", "0", "`CPU` of the servers; burn's take the load's, too")
	f.StringVar(&cfg.LoadCPU, "load-cpu", "1", "`CPU` of the load")
	f.IntVar(&cfg.Repeat, "repeat", 0, "measure a run again that others disturbed, this many `times` at most")
	f.DurationVar(&cfg.budget, "budget", 0, "begin no round of a workload that would not end within this `time`; 0: all")
	f.StringVar(&cfg.Root, "root", ".", "the repository")
	f.StringVar(&cfg.Bin, "bin", "", "`directory` for binaries, which are kept")
	f.BoolVar(&guarded, "guard", false, "compare Suiro's ratios to package net with bench/baselines.json; 1 if one is more than 20 % worse")
	f.BoolVar(&update, "update", false, "with -guard: write the baselines")
	_ = f.Parse(args) // it ends the program itself
	cfg.Command = strings.TrimSpace("go run ./bench " + strings.Join(visible(args), " "))
	if f.NArg() > 0 {
		return cfg, nil, fmt.Errorf("%q is no flag; use -workloads and -peers", f.Args())
	}
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if *quick {
		for name, value := range map[string]string{
			"r": "2", "d": "0.6", "w": "0.15", "idle": "2000", "peers": "gnet,net", "budget": "48s",
			"workloads": "http-50,pipeline,echo64-500,udp,idle",
		} {
			if !set[name] {
				_ = f.Set(name, value)
			}
		}
	}
	if cfg.Names, err = chooseNames(list(peers)); err != nil {
		return cfg, nil, err
	}
	if cfg.workloads, err = chooseWorkloads(list(workloads)); err != nil {
		return cfg, nil, err
	}
	if cfg.Rounds < 1 || cfg.Seconds <= 0 || cfg.Warmup < 0 || cfg.Idle < 1 || cfg.Repeat < 0 {
		return cfg, nil, errors.New("-r and -idle start at 1, -d above 0, -w and -repeat at 0")
	}
	if cfg.Bin == "" {
		return cfg, nil, errors.New("-bin is missing; use go run ./bench")
	}
	if guarded {
		g = &guard{update: update}
	}
	return cfg, g, nil
}

// visible leaves out what go run ./bench adds, and where files are.
func visible(args []string) (rest []string) {
	for i, a := range args {
		name, value, ok := strings.Cut(strings.Replace(a, "--", "-", 1), "=")
		switch {
		case name == "-root" || name == "-bin":
			continue
		case ok && name == "-json":
			a = name + "=" + filepath.Base(value)
		case i > 0 && strings.TrimLeft(args[i-1], "-") == "json":
			a = filepath.Base(a)
		}
		rest = append(rest, a)
	}
	return rest
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
