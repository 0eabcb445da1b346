package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	baselineFile = "bench/baselines.json"
	reference    = "net" // what everything is a ratio to, measured in the same round
	worse        = 1.20  // of the baseline: more fails
	guardedIdle  = 10000 // connections: with few of them a page here or there is much of what each takes
)

// An attempt is one measurement of a workload.
type attempt struct {
	rounds  int
	seconds float64 // of a run
	names   []string
}

// attempts follow each other. Each measures the workloads that were worse in all attempts before,
// and those of the last one fail. Each is longer than the one before: on a busy machine, a run of a
// quarter of a second gets few milliseconds.
var attempts = []attempt{{rounds: 5, seconds: 0.25}, {rounds: 7, seconds: 0.4}, {rounds: 9, seconds: 0.6}, {rounds: 9, seconds: 0.6}}

// guarded are the workloads that are looked at: none whose figure is a time.
var guarded = []string{
	"http-50", "pipeline", "echo64-50", "trickle-100", "trickle-300", "trickle-1000", "trickle-3000",
	"trickle-100-two", "trickle-300-two", "trickle-1000-two", "trickle-3000-two", "stream-echo", "udp", "churn", "idle",
}

// ofMiddle ends the name of a contender for its median latency, as a ratio to the reference's. It
// matters where messages are few: else it says how much waits before a server.
const ofMiddle = " p50"

// Baselines are the ratios of an earlier run. Both sides of a ratio are of one machine and one
// minute, so they hold where times would not; another kernel or processor may still want its own.
type baselines struct {
	Environment environment        `json:"environment"`
	Reference   string             `json:"reference"`
	Ratios      map[string]float64 `json:"ratios"` // by workload and contender
}

// A guard compares with the baselines, or writes them.
type guard struct{ update bool }

func (g *guard) run(ctx context.Context, cfg config) (ok bool, err error) {
	path := filepath.Join(cfg.Root, baselineFile)
	var base baselines
	if !g.update {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &base)
		}
		if err != nil {
			return false, fmt.Errorf("%w; go run ./bench -guard -update writes it", err)
		}
	}
	cfg.Names = append(slices.Clone(two), reference)
	if !hasRings() {
		log.Print("this kernel gives us no io_uring: only epoll is looked at")
		cfg.Names = cfg.Names[1:]
	}
	if cfg.workloads, err = chooseWorkloads(guarded); err != nil {
		return false, err
	}
	cfg.Warmup, cfg.Idle = 0.1, guardedIdle
	rep := &report{Config: cfg, Workloads: cfg.workloads}
	if rep.Missing, err = build(ctx, cfg); err != nil {
		return false, err
	}
	if len(rep.Missing) > 0 {
		return false, fmt.Errorf("missing: %v", rep.Missing)
	}
	found := baselines{Environment: describe(ctx, cfg), Reference: reference, Ratios: map[string]float64{}}
	ok = true
	for _, w := range cfg.workloads {
		tries := attempts
		switch {
		case g.update:
			tries = attempts[len(attempts)-1:] // there is one that decides
		case !ok:
			tries = attempts[:1] // it fails anyway: this is only for the report
		}
		good, err := evaluate(w, base.Ratios, found.Ratios, g.update, tries, func(a attempt) (map[string]float64, error) {
			cfg := cfg
			cfg.Seconds = a.seconds
			if len(a.names) > 0 {
				cfg.Names = append(measured(a.names), reference)
			}
			return rep.pairs(ctx, cfg, w, a.rounds)
		})
		if err != nil {
			return false, err
		}
		ok = ok && good
	}
	if g.update {
		text, err := json.MarshalIndent(found, "", "  ")
		if err != nil {
			return false, err
		}
		return true, os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if was, is := base.Environment, found.Environment; !ok && (was.CPU != is.CPU || was.Kernel != is.Kernel || was.Go != is.Go) {
		log.Printf("the baselines are of %s, Linux %s, %s; here it is %s, Linux %s, %s: if the change is that, go run ./bench -guard -update",
			was.CPU, was.Kernel, was.Go, is.CPU, is.Kernel, is.Go)
	}
	return ok, nil
}

// evaluate measures a workload until it is no worse than the baselines, or attempts are over: all
// contenders first, then those that were worse. The best of an attempt's medians counts: other work
// on the machine comes and goes, and code that has become worse is so each time.
func evaluate(w workload, base, found map[string]float64, update bool, tries []attempt, measure func(attempt) (map[string]float64, error)) (ok bool, err error) {
	var wanting []string // the contenders that were too bad each time
	for try, a := range tries {
		if w.memory() {
			a.rounds = 2 + try // it makes less noise than time
		}
		a.names = wanting
		got, err := measure(a)
		if err != nil {
			return false, err
		}
		if len(got) == 0 {
			return false, fmt.Errorf("%s: nothing was measured", w.Name)
		}
		wanting = nil
		for _, name := range slices.Sorted(maps.Keys(got)) {
			key := w.Name + " " + name
			was, known := base[key]
			if !known && !update {
				return false, fmt.Errorf("%s has no baseline; go run ./bench -guard -update writes one", key)
			}
			if best, before := found[key]; !before || got[name] < best || math.IsNaN(best) {
				found[key] = got[name]
			}
			if !update && !(found[key] <= was*worse) { // NaN is not
				wanting = append(wanting, name)
				log.Printf("%s %s: %.2f of %s, baseline %.2f: too much, at measurement %d of %d", w.Name, name, got[name], reference, was, try+1, len(tries))
			}
		}
		if len(wanting) == 0 {
			break
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if name, own := strings.CutPrefix(key, w.Name+" "); own {
			report := fmt.Sprintf("%-28s %.3f of %s, baseline %.3f", key, found[key], reference, base[key])
			if slices.Contains(wanting, name) {
				report += fmt.Sprintf(": WORSE by %.0f %% at best, of %d measurements", 100*(found[key]/base[key]-1), len(tries))
			}
			log.Print(report)
		}
	}
	return len(wanting) == 0, nil
}

// pairs are the medians of the contenders' ratios to the reference, each of so many rounds.
func (rep *report) pairs(ctx context.Context, cfg config, w workload, rounds int) (map[string]float64, error) {
	rep.Samples = nil
	for round := range rounds {
		if err := rep.round(ctx, cfg, w, round); err != nil {
			return nil, err
		}
	}
	return rep.compare(cfg, w, rounds)
}

// compare makes the ratios of the measured samples.
func (rep *report) compare(cfg config, w workload, rounds int) (map[string]float64, error) {
	got := map[string]float64{}
	for _, name := range cfg.Names {
		rs := ratios(pick(rep.Samples, name, w.Name), pick(rep.Samples, reference, w.Name))
		if len(rs) < (rounds+1)/2 { // wrong bytes, or a server that does not start
			for _, s := range rep.Samples {
				if s.Failure != "" {
					return nil, fmt.Errorf("%s, %s: %s", w.Name, s.Contender, s.Failure)
				}
			}
			return nil, errors.New("samples are missing")
		}
		if name == reference {
			continue
		}
		if got[name] = spreadOf(rs).median; w.more {
			got[name] = 1 / got[name] // what a byte costs, so that more is worse here too
		}
		if w.few {
			got[name+ofMiddle] = spreadOf(ratiosOf(pick(rep.Samples, name, w.Name), pick(rep.Samples, reference, w.Name), middle.of)).median
		}
	}
	return got, nil
}

// measured are the contenders that have one of these ratios.
func measured(names []string) []string {
	own := make([]string, len(names))
	for i, name := range names {
		own[i] = strings.TrimSuffix(name, ofMiddle)
	}
	slices.Sort(own)
	return slices.Compact(own)
}

// hasRings reports whether the kernel lets us have an io_uring.
func hasRings() bool {
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno == 0 {
		_ = unix.Close(int(fd))
	}
	return errno == 0
}
