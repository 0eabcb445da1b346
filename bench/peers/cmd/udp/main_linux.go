// Command udp measures what a datagram costs an echo server: the CPU time of the server's process per
// datagram, with 8 sockets that have 32 datagrams of 64 bytes in flight each. bench/udp.sh runs it.
//
// The command is also its own servers and load, as child processes of their own: the server on one CPU, the
// load on another. Contenders take turns within a round, and ratios are taken within rounds.
//
// The exit status is 1 if any run failed: a wrong echo, more than one lost in a thousand, a contender that
// did not start.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

type config struct {
	rounds                 int
	seconds, warmup        float64
	serverCPU, loadCPU     string
	sockets, inFlight, siz int
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("udp: ")
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		log.Fatal(serve(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == "load" {
		if err := loadMain(os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	var c config
	flag.IntVar(&c.rounds, "r", 3, "rounds")
	flag.Float64Var(&c.seconds, "d", 2, "seconds of a run")
	flag.Float64Var(&c.warmup, "warmup", 0.3, "seconds before it")
	flag.StringVar(&c.serverCPU, "server", "0", "CPU of the server")
	flag.StringVar(&c.loadCPU, "load", "1", "CPU of the load")
	flag.IntVar(&c.sockets, "sockets", 8, "client sockets")
	flag.IntVar(&c.inFlight, "inflight", 32, "datagrams in flight of each")
	flag.IntVar(&c.siz, "size", 64, "bytes of a datagram, at least 16")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = []string{"net", "suiro/io_uring", "suiro/epoll"}
	}
	if err := compare(c, names); err != nil {
		log.Fatal(err)
	}
}

// A result is one run.
type result struct {
	Datagrams int64 // that came back
	Lost      int64
	Seconds   float64
	cpu       time.Duration
}

func (r result) perDatagram() float64 { return float64(r.cpu.Nanoseconds()) / float64(r.Datagrams) }

func compare(c config, names []string) error {
	results := map[string][]result{}
	for round := range c.rounds {
		for i := range names {
			name := names[(i+round)%len(names)] // nobody is always the first
			r, err := run(c, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Printf("round %d  %-16s %7.0f ns of CPU per datagram, %6.0f datagrams per ms, server busy %3.0f %%, lost %d\n", round+1, name,
				r.perDatagram(), float64(r.Datagrams)/r.Seconds/1000, 100*r.cpu.Seconds()/r.Seconds, r.Lost)
			results[name] = append(results[name], r)
		}
	}
	base := names[0]
	fmt.Printf("\n%-16s %s\n", "", "CPU per datagram, as a ratio to "+base+": median of the rounds (all)")
	for _, name := range names[1:] {
		var ratios []float64
		for i, r := range results[name] {
			ratios = append(ratios, r.perDatagram()/results[base][i].perDatagram())
		}
		slices.Sort(ratios)
		fmt.Printf("%-16s %.2f  (%.2f)\n", name, ratios[len(ratios)/2], ratios)
	}
	return nil
}

// run measures one contender once.
func run(c config, name string) (result, error) {
	exe, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	server := exec.Command("taskset", "-c", c.serverCPU, exe, "serve", name)
	server.Env = append(os.Environ(), "GOMAXPROCS=1")
	server.Stderr = os.Stderr
	stdin, err := server.StdinPipe() // closing it ends the server
	if err != nil {
		return result{}, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	if err := server.Start(); err != nil {
		return result{}, err
	}
	defer func() { _ = stdin.Close(); _ = server.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		return result{}, fmt.Errorf("it did not say where it listens: %q, %w", line, err)
	}
	load := exec.Command("taskset", "-c", c.loadCPU, exe, "load", addr, fmt.Sprint(server.Process.Pid),
		fmt.Sprint(c.sockets), fmt.Sprint(c.inFlight), fmt.Sprint(c.siz), fmt.Sprint(c.warmup), fmt.Sprint(c.seconds))
	load.Stderr = os.Stderr
	report, err := load.Output()
	if err != nil {
		return result{}, fmt.Errorf("load: %w", err)
	}
	var r struct {
		result
		CPU int64
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return result{}, err
	}
	r.cpu = time.Duration(r.CPU)
	switch {
	case r.Datagrams == 0:
		return result{}, errors.New("nothing came back")
	case r.Lost*1000 > r.Datagrams:
		return result{}, fmt.Errorf("%d of %d were lost", r.Lost, r.Datagrams)
	}
	return r.result, nil
}
