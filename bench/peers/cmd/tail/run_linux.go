package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"
)

// base is the contender that the ratios are taken to, and that the control is measured with.
const base = "net"

// sample is one run.
type sample struct {
	Contender string  `json:"contender"`
	Slow      int     `json:"slow"` // connections that burn; 0: the control
	Round     int     `json:"round"`
	Result    result  `json:"result"`
	Foreign   float64 `json:"foreign_cpu_share"` // of the CPUs, by neither server nor client
	Failure   string  `json:"failure,omitempty"`
}

// run measures everything and prints the report. It reports whether nothing failed.
func run(ctx context.Context, cfg config) (ok bool, err error) {
	cfg.Burn, cfg.BurnTime = calibrate(burnFor)
	log.Printf("a burn of %d iterations takes %.1f ms of CPU", cfg.Burn, cfg.BurnTime.Seconds()*1e3)
	var samples []sample
	measureNext := func(name string, slow, round int) {
		if ctx.Err() != nil {
			return
		}
		s := measure(ctx, cfg, name, slow, round)
		progress(s)
		samples = append(samples, s)
	}
	for round := range cfg.Rounds {
		measureNext(base, 0, round)
		for _, slow := range cfg.Slow {
			for i := range cfg.names {
				measureNext(cfg.names[(i+round)%len(cfg.names)], slow, round) // nobody always comes first
			}
		}
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	writeMarkdown(os.Stdout, cfg, samples)
	if cfg.json != "" {
		if err := writeJSON(cfg, samples); err != nil {
			return false, err
		}
	}
	for _, s := range samples {
		if s.Failure != "" {
			return false, nil
		}
	}
	return true, nil
}

// measure starts a contender, loads it and stops it.
func measure(ctx context.Context, cfg config, name string, slow, round int) sample {
	s := sample{Contender: name, Slow: slow, Round: round}
	c, err := start(ctx, cfg, name)
	if err != nil {
		s.Failure = err.Error()
		return s
	}
	err = measureServer(ctx, cfg, c, &s)
	c.stop()
	if err != nil {
		s.Failure = err.Error() + c.lastWords()
	}
	return s
}

func measureServer(ctx context.Context, cfg config, c *child, s *sample) error {
	cpus := strings.Split(cfg.CPUs, ",")
	if cfg.ClientCPU != "" && !slices.Contains(cpus, cfg.ClientCPU) {
		cpus = append(cpus, cfg.ClientCPU)
	}
	busy, err := busyCPU(cpus)
	if err != nil {
		return err
	}
	before, err := processCPU(c.cmd.Process.Pid)
	if err != nil {
		return err
	}
	began := time.Now()
	var client float64
	if s.Result, client, err = runLoad(ctx, cfg, c.addr, s.Slow); err != nil {
		return err
	}
	wall := time.Since(began).Seconds()
	after, err := processCPU(c.cmd.Process.Pid)
	if err != nil {
		return err
	}
	busyAfter, err := busyCPU(cpus)
	s.Foreign = max(0, (busyAfter-busy-(after-before)-client)/wall/float64(len(cpus)))
	return err
}

func progress(s sample) {
	at := fmt.Sprintf("round %d  %d slow  %-15s", s.Round+1, s.Slow, s.Contender)
	if s.Failure != "" {
		log.Printf("%s FAILED: %s", at, s.Failure)
		return
	}
	l := s.Result.Latency
	log.Printf("%s p50 %7.2f ms  p99 %7.2f ms  max %7.2f ms  %5.1f burns/s  %2.0f %% others",
		at, l.P50/1e3, l.P99/1e3, l.Max/1e3, s.Result.SlowRate, 100*s.Foreign)
}

func writeJSON(cfg config, samples []sample) error {
	b, err := json.MarshalIndent(map[string]any{"config": cfg, "samples": samples}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(cfg.json, append(b, '\n'), 0o644)
}
