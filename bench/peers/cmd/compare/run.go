package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"
)

// leastCPU is the least server time, in seconds, that ticks of 10 ms still measure; a server that uses less
// was starved.
const leastCPU = 0.1

// A workload is how wrk loads a server.
type workload struct {
	Connections int `json:"connections"`
	Depth       int `json:"depth"` // requests in flight per connection
}

func (w workload) String() string {
	if w.Depth == 1 {
		return fmt.Sprintf("HTTP plaintext, %d connections", w.Connections)
	}
	return fmt.Sprintf("HTTP plaintext, %d connections, %d-deep pipelines", w.Connections, w.Depth)
}

// A sample is one run of one contender.
type sample struct {
	Contender string   `json:"contender"`
	Workload  workload `json:"workload"`
	Round     int      `json:"round"`
	Load      load     `json:"wrk"`
	UserSec   float64  `json:"server_user_seconds"`
	SysSec    float64  `json:"server_sys_seconds"`
	LoadCPU   float64  `json:"wrk_cpu_share"`     // of its CPU, 0 to 1
	Foreign   float64  `json:"foreign_cpu_share"` // of the server's CPU, used by anything but the server
	Failure   string   `json:"failure,omitempty"` // why the figures above do not count
}

func (s sample) failed() bool    { return s.Failure != "" || s.Load.errors() > 0 || s.Load.Requests == 0 }
func (s sample) rate() float64   { return float64(s.Load.Requests) / (float64(s.Load.Micros) / 1e6) }
func (s sample) user() float64   { return s.UserSec * 1e6 / float64(s.Load.Requests) }
func (s sample) system() float64 { return s.SysSec * 1e6 / float64(s.Load.Requests) }
func (s sample) cpu() float64    { return s.user() + s.system() }

// report is everything that a comparison found; -json writes it.
type report struct {
	Environment environment       `json:"environment"`
	Config      config            `json:"config"`
	Missing     map[string]string `json:"missing"` // contenders that could not be built, and why
	Samples     []sample          `json:"samples"`
	Repeated    []sample          `json:"repeated"` // disturbed, so measured again; in no row
	Rows        []row             `json:"rows"`
}

// run compares and prints. ok is false if anything failed that a reader of the table must know of.
func run(ctx context.Context, cfg config) (ok bool, err error) {
	wanted, err := choose(cfg.names)
	if err != nil {
		return false, err
	}
	bin, err := os.MkdirTemp("", "suiro-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(bin)

	rep := report{Config: cfg}
	rep.Missing = build(ctx, cfg.Root, bin, wanted)
	rep.Environment = describe(ctx, cfg.Root, bin, wanted)
	var present []contender
	for _, c := range wanted {
		if why, missing := rep.Missing[c.name]; missing {
			log.Printf("missing: %s: %s", c.name, why)
			continue
		}
		present = append(present, c)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if len(present) == 0 {
		return false, errors.New("no contender could be built")
	}

	loads := workloads(cfg)
	each := time.Duration(cfg.Seconds+cfg.Warmup)*time.Second + 200*time.Millisecond
	log.Printf("%d contenders, %d workloads, %d rounds: about %v", len(present), len(loads), cfg.Rounds,
		(time.Duration(len(present)*len(loads)*cfg.Rounds) * each).Round(time.Second))
	for round := range cfg.Rounds {
		for _, w := range loads {
			for _, c := range present {
				s, disturbed := measureQuietly(ctx, cfg, bin, c, w, round)
				if err := ctx.Err(); err != nil {
					return false, err
				}
				rep.Samples = append(rep.Samples, s)
				rep.Repeated = append(rep.Repeated, disturbed...)
			}
		}
	}
	rep.Rows = summarise(rep.Samples, cfg.Bases)
	writeMarkdown(os.Stdout, rep, wanted, loads)
	if cfg.json != "" {
		if err := writeJSON(cfg.json, rep); err != nil {
			return false, err
		}
	}
	ok = len(rep.Missing) == 0
	for _, s := range rep.Samples {
		ok = ok && !s.failed()
	}
	return ok, nil
}

func workloads(cfg config) (ws []workload) {
	for _, n := range cfg.plain {
		ws = append(ws, workload{n, 1})
	}
	for _, n := range cfg.piped {
		ws = append(ws, workload{n, cfg.Depth})
	}
	return ws
}

// measureQuietly repeats a run that others disturbed, at most cfg.Repeat times, and returns the repeated ones
// too. What decides is others' use of the CPU, never the result, and a run with an error is not repeated.
func measureQuietly(ctx context.Context, cfg config, bin string, c contender, w workload, round int) (
	s sample, disturbed []sample,
) {
	for try := 0; ; try++ {
		s = measure(ctx, cfg, bin, c, w, round)
		progress(s)
		if try == cfg.Repeat || s.failed() || s.Foreign < noisy || ctx.Err() != nil {
			return s, disturbed
		}
		disturbed = append(disturbed, s)
	}
}

// measure starts a contender, warms it up, measures one run and stops it.
func measure(ctx context.Context, cfg config, bin string, c contender, w workload, round int) sample {
	s := sample{Contender: c.name, Workload: w, Round: round}
	srv, err := c.start(bin, cfg.ServerCPU)
	if err != nil {
		s.Failure = err.Error()
		return s
	}
	defer srv.stop()
	if err := measureServer(ctx, cfg, c, srv, &s); err != nil {
		s.Failure = err.Error() + srv.lastWords()
	}
	return s
}

func measureServer(ctx context.Context, cfg config, c contender, srv *server, s *sample) error {
	if err := checkHTTP(srv.addr); err != nil {
		return fmt.Errorf("wrong answers: %w", err)
	}
	if cfg.Warmup > 0 {
		if _, err := runWrk(ctx, cfg, srv.addr, s.Workload, cfg.Warmup); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	if err := c.checkBackend(srv.pid()); err != nil {
		return err
	}
	before, err := readCPU(srv.pid(), cfg.ServerCPU)
	if err != nil {
		return err
	}
	started := time.Now()
	l, err := runWrk(ctx, cfg, srv.addr, s.Workload, cfg.Seconds)
	wall := time.Since(started)
	after, gone := readCPU(srv.pid(), cfg.ServerCPU)
	if gone != nil {
		return fmt.Errorf("the server is gone: %w", errors.Join(gone, err))
	}
	s.Load = l
	s.UserSec, s.SysSec = after.user-before.user, after.sys-before.sys
	s.LoadCPU = l.cpu.Seconds() / wall.Seconds()
	s.Foreign = max(0, (after.busy-before.busy-s.UserSec-s.SysSec)/wall.Seconds())
	if err == nil && s.UserSec+s.SysSec < leastCPU {
		err = fmt.Errorf("%d requests took less than %v s of CPU: too little to measure", l.Requests, leastCPU)
	}
	return err
}

func progress(s sample) {
	if s.Failure != "" {
		log.Printf("round %d  %-56s %-15s FAILED: %s", s.Round+1, s.Workload, s.Contender, s.Failure)
		return
	}
	log.Printf("round %d  %-56s %-15s %9.0f req/s  %6.3f µs/req  %d errors  %2.0f %% others",
		s.Round+1, s.Workload, s.Contender, s.rate(), s.cpu(), s.Load.errors(), 100*s.Foreign)
}

func writeJSON(path string, rep report) error {
	b, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
