package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/suiro-go/suiro/bench/load"

	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

const (
	starvations = 6        // tries of a run that had no CPU
	leastCPU    = 0.01     // of a server in a closed loop, as a share of its CPU: less, and it was starved
	warmConns   = 256      // that come and go before memory is looked at: code and pools cost nothing per connection,
	warmSize    = 8 << 10  // with what they send at least, so that the pools have been used
	slowSeconds = 3.       // for which slow readers read slowly, at most
	slowRate    = 64 << 10 // bytes a second of each
)

// httpSettles is more than connections of HTTP stay as they are when they fall silent. Tests
// shorten it.
var httpSettles = time.Second

// A sample is one run of one contender.
type sample struct {
	Contender string   `json:"contender"`
	Workload  string   `json:"workload"`
	Round     int      `json:"round"`
	Rate      float64  `json:"rate,omitempty"` // of an open loop
	Outcome   outcome  `json:"outcome"`
	Figure    float64  `json:"figure"`            // in the workload's unit
	Foreign   float64  `json:"foreign_cpu_share"` // of the servers' CPUs, by neither server nor load
	Stolen    float64  `json:"stolen_cpu_share"`  // of the servers' and the load's CPUs, by this machine's host
	Failure   string   `json:"failure,omitempty"` // why the figures above do not count
	Refused   []string `json:"refused,omitempty"` // steps of calm that were refused

	starved bool // which is the failure
}

// measure is measureOnce, repeated where others had the CPU.
func measure(ctx context.Context, cfg config, name string, w workload, round int) (s sample) {
	for range starvations {
		if s = measureOnce(ctx, cfg, name, w, round); !s.starved || ctx.Err() != nil {
			break
		}
		cfg.Seconds *= 1.5
	}
	return s
}

// measureOnce starts a contender, loads it and stops it.
func measureOnce(ctx context.Context, cfg config, name string, w workload, round int) sample {
	s := sample{Contender: name, Workload: w.Name, Round: round, Rate: w.Rate}
	srv, err := start(cfg, name, w)
	if err != nil {
		s.Failure = err.Error()
		return s
	}
	err = measureServer(ctx, cfg, srv, w, &s)
	srv.stop()
	if err == nil {
		s.Figure = w.figure(s.Outcome)
		if math.IsNaN(s.Figure) || math.IsInf(s.Figure, 0) {
			err = fmt.Errorf("no figure comes of %+v", s.Outcome)
			s.Figure = 0
		}
	}
	if err != nil {
		s.Failure, s.starved = err.Error()+srv.lastWords(), errors.Is(err, errStarved)
	}
	return s
}

func measureServer(ctx context.Context, cfg config, srv *server, w workload, s *sample) error {
	if w.Kind == plaintext {
		if err := checkHTTP(srv.addr); err != nil {
			return fmt.Errorf("wrong answers: %w", err)
		}
	}
	if w.calm {
		var release func()
		release, s.Refused = calm(srv.pid())
		defer release()
	}
	cpus := strings.Split(cpusOf(cfg, w), ",")
	both := append(slices.Clone(cpus), cfg.LoadCPU)
	busy, _, err := busyCPU(cpus)
	if err != nil {
		return err
	}
	_, stolen, err := busyCPU(both)
	if err != nil {
		return err
	}
	used, err := load.ProcessCPU(srv.pid())
	if err != nil {
		return err
	}
	began := time.Now()
	switch w.Kind {
	case "idle", "http", "https-idle":
		s.Outcome, err = runIdle(ctx, cfg, srv, w)
	case "slow-readers":
		s.Outcome, err = runSlow(ctx, cfg, srv, w)
	default:
		s.Outcome, err = runMessages(ctx, cfg, srv, w)
	}
	if err != nil {
		return err
	}
	wall := time.Since(began)
	after, err1 := load.ProcessCPU(srv.pid())
	busyAfter, _, err2 := busyCPU(cpus)
	_, stolenAfter, err3 := busyCPU(both)
	mine := after - used
	if len(cpus) > 1 { // which the load shares
		mine += time.Duration(float64(s.Outcome.LoadCPU) * wall.Seconds() / s.Outcome.Elapsed.Seconds())
	}
	s.Foreign = max(0, (busyAfter-busy-mine).Seconds()/wall.Seconds()/float64(len(cpus)))
	s.Stolen = (stolenAfter - stolen).Seconds() / wall.Seconds() / float64(len(both))
	return errors.Join(err1, err2, err3)
}

func seconds(s float64) string { return fmt.Sprint(time.Duration(s * float64(time.Second))) }

// runMessages measures CPU time and latencies.
func runMessages(ctx context.Context, cfg config, srv *server, w workload) (o outcome, err error) {
	if w.quiet {
		still := w
		still.quiet, still.Marked = false, 0
		before, err := runMessages(ctx, cfg, srv, still)
		if err != nil {
			return o, fmt.Errorf("without marked messages: %w", err)
		}
		before.Latency.Counts = nil
		o.Quiet = &before.Latency
	}
	args := []string{"-c", strconv.Itoa(w.Conns), "-size", strconv.Itoa(w.Size), "-depth", strconv.Itoa(max(1, w.Depth)),
		"-slow", strconv.Itoa(w.Slow), "-marked", strconv.Itoa(w.Marked), "-rate", strconv.FormatFloat(w.Rate, 'f', -1, 64), "-pid", strconv.Itoa(srv.pid()),
		"-w", seconds(cfg.Warmup), "-d", seconds(w.seconds(cfg.Seconds))}
	if w.lingers() {
		args = append(args, "-priority", "auto")
	}
	switch strings.TrimPrefix(w.Kind, proxy+":") {
	case plaintext:
		args = append(args, "-kind", "http")
	case "https":
		args = append(args, "-kind", "http", "-tls")
	case "tls":
		args = append(args, "-tls")
	case "chunks", "udp", "churn", "redis":
		args = append(args, "-kind", strings.TrimPrefix(w.Kind, proxy+":"))
	}
	if w.calm {
		args = append(args, "-spin", "-priority", "nice")
	}
	if w.random {
		args = append(args, "-random")
	}
	var files []*os.File
	if srv.behind != nil {
		files = append(files, srv.behind)
		args = append(args, "-origin", "3")
	}
	out, err := runLoad(ctx, cfg, append(args, srv.addr), nil, files...)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(out, &o.Result); err != nil {
		return o, err
	}
	if w.Rate == 0 && o.CPU.Seconds() < leastCPU*o.Elapsed.Seconds() {
		err = fmt.Errorf("%w: %d messages took %v of it, which is too little to measure", errStarved, o.Count, o.CPU)
	}
	return o, err
}

// runIdle measures memory.
func runIdle(ctx context.Context, cfg config, srv *server, w workload) (o outcome, err error) {
	settle := func() {
		if w.Kind != "idle" {
			time.Sleep(httpSettles)
		}
	}
	hold := func(conns, size int, look func() error) error {
		args := []string{"-kind", "idle", "-c", strconv.Itoa(conns), "-size", strconv.Itoa(size)}
		if w.Kind != "idle" {
			args = append(args, "-path", "/plaintext", "-reply", plain.Fixed)
		}
		if w.Kind == "https-idle" {
			args = append(args, "-tls")
		}
		_, err := runLoad(ctx, cfg, append(args, srv.addr), look)
		return err
	}
	if err := hold(warmConns, max(w.Size, warmSize), func() error { return nil }); err != nil {
		return o, err
	}
	settle()
	before, err := srv.resident()
	if err != nil {
		return o, err
	}
	conns := cfg.Idle
	if w.Conns > 0 {
		conns = min(conns, w.Conns)
	}
	began := time.Now()
	err = hold(conns, w.Size, func() error {
		settle()
		after, err := srv.resident()
		o.Resident, o.Growth = after, after-before
		return err
	})
	o.Count, o.Elapsed = int64(conns), time.Since(began)
	return o, err
}

// runSlow measures memory while readers are slow.
func runSlow(ctx context.Context, cfg config, srv *server, w workload) (o outcome, err error) {
	before, err := srv.resident()
	if err != nil {
		return o, err
	}
	args := []string{"-kind", "slow-readers", "-c", strconv.Itoa(w.Conns), "-read-rate", strconv.Itoa(slowRate),
		"-pid", strconv.Itoa(srv.pid()), "-d", seconds(min(slowSeconds, 3*cfg.Seconds)), srv.addr}
	var after int64
	out, err := runLoad(ctx, cfg, args, func() (err error) {
		after, err = srv.resident()
		return err
	})
	if err != nil {
		return o, err
	}
	err = json.Unmarshal(out, &o.Result)
	o.Resident, o.Growth = after, after-before
	return o, err
}

// calibrate finds how many iterations a slow handler computes.
func calibrate(cfg *config) error {
	out, err := exec.Command(filepath.Join(cfg.Bin, "serve"), "calibrate", burnFor).Output()
	if err != nil {
		return fmt.Errorf("serve calibrate: %w", err)
	}
	cfg.burn, _, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return nil
}

// capacityOf is how many messages per second package net can do in the workload's closed loop.
func capacityOf(ctx context.Context, cfg config, w workload, round int) (float64, error) {
	closed := w
	closed.figure = cpuEach
	s := measure(ctx, cfg, "net", closed, round)
	if s.Failure != "" {
		return 0, fmt.Errorf("what package net can do: %s", s.Failure)
	}
	return float64(s.Outcome.Count) / s.Outcome.Elapsed.Seconds(), nil
}

// busyCPU is the time for which those CPUs were neither idle nor waiting, and for which the host of
// a virtual machine had them meanwhile, from proc_stat(5).
func busyCPU(cpus []string) (busy, stolen time.Duration, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	return parseBusy(string(stat), cpus)
}

func parseBusy(stat string, cpus []string) (busy, stolen time.Duration, err error) {
	const tick = time.Second / 100 // USER_HZ
	for _, cpu := range cpus {
		_, line, ok := strings.Cut("\n"+stat, "\ncpu"+cpu+" ")
		if !ok {
			return 0, 0, fmt.Errorf("there is no CPU %s", cpu)
		}
		line, _, _ = strings.Cut(line, "\n")
		for i, f := range strings.Fields(line) {
			if i == 3 || i == 4 || i > 7 { // idle, iowait; guest times are part of user
				continue
			}
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, 0, err
			}
			busy += time.Duration(n) * tick
			if i == 7 {
				stolen += time.Duration(n) * tick
			}
		}
	}
	return busy, stolen, nil
}
