package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"time"
)

// noisy is the others' share of the servers' CPUs from which on a run is suspect.
const noisy = 0.05

// A report is everything that was found; -json writes it.
type report struct {
	Environment environment       `json:"environment"`
	Config      config            `json:"config"`
	Workloads   []workload        `json:"workloads"`
	Missing     map[string]string `json:"missing"` // binaries that could not be built, and why
	Samples     []sample          `json:"samples"`
	Repeated    []sample          `json:"repeated,omitempty"` // disturbed, so measured again; in no table
	Skipped     []string          `json:"skipped,omitempty"`  // rounds for which -budget had no time
	Took        time.Duration     `json:"took_nanoseconds"`
}

// run measures everything and prints the report. It reports whether nothing failed.
func run(ctx context.Context, cfg config) (ok bool, err error) {
	began := time.Now()
	rep, err := measureAll(ctx, cfg)
	if err != nil {
		return false, err
	}
	rep.Took = time.Since(began)
	if cfg.json != "" {
		b, err := json.MarshalIndent(rep, "", "  ")
		if err == nil {
			err = os.WriteFile(cfg.json, append(b, '\n'), 0o644)
		}
		if err != nil {
			return false, err
		}
	}
	return rep.show(cfg.results)
}

// render shows an earlier run.
func render(_ context.Context, cfg config) (ok bool, err error) {
	text, err := os.ReadFile(cfg.render)
	if err != nil {
		return false, err
	}
	rep := &report{}
	if err := json.Unmarshal(text, rep); err != nil {
		return false, fmt.Errorf("%s: %w", cfg.render, err)
	}
	var names []string
	for _, w := range rep.Workloads {
		names = append(names, w.Name)
	}
	if rep.Workloads, err = chooseWorkloads(names); err != nil { // what they are measured by is not in the file
		return false, err
	}
	rep.Config.Root = cfg.Root
	return rep.show(cfg.results)
}

// show prints the report, and writes RESULTS.md if there is a directory for it. It reports whether
// nothing failed.
func (rep *report) show(results string) (ok bool, err error) {
	writeMarkdown(os.Stdout, rep)
	if results != "" {
		if err := writeResults(results, rep); err != nil {
			return false, err
		}
	}
	asked := len(rep.Config.Names) > 0 // a missing contender that was not requested by name is only reported
	return (len(rep.Missing) == 0 || !asked) && !slices.ContainsFunc(rep.Samples, func(s sample) bool { return s.Failure != "" }), nil
}

func measureAll(ctx context.Context, cfg config) (rep *report, err error) {
	began := time.Now()
	rep = &report{Config: cfg, Workloads: cfg.workloads}
	if rep.Missing, err = build(ctx, cfg); err != nil {
		return nil, err
	}
	rep.Environment = describe(ctx, cfg)
	if err := calibrate(&cfg); err != nil {
		return nil, err
	}
	runs := 0
	for _, w := range cfg.workloads {
		runs += len(present(cfg, rep.Missing, w))
	}
	if runs == 0 {
		return nil, errors.New("nobody is there to be measured")
	}
	log.Printf("%d workloads, %d runs, %d rounds: about %v", len(cfg.workloads), runs, cfg.Rounds, estimate(cfg, rep.Missing).Round(time.Second))
	longest := map[string]time.Duration{}
	most := 0
	for _, w := range cfg.workloads {
		most = max(most, w.rounds(cfg.Rounds))
	}
	for round := range most {
		for _, w := range cfg.workloads {
			if round >= w.rounds(cfg.Rounds) {
				continue
			}
			if cfg.budget > 0 && time.Since(began)+longest[w.Name] > cfg.budget {
				rep.Skipped = append(rep.Skipped, fmt.Sprintf("%s in round %d", w.Name, round+1))
				continue
			}
			from := time.Now()
			if err := rep.round(ctx, cfg, w, round); err != nil {
				return nil, err
			}
			longest[w.Name] = max(longest[w.Name], time.Since(from))
		}
	}
	return rep, nil
}

// present are a workload's contenders that could be built.
func present(cfg config, missing map[string]string, w workload) []string {
	return slices.DeleteFunc(contendersOf(cfg, w), func(name string) bool {
		r, _ := find(name, w.Kind)
		return r.file == "" && missing[r.binary] != ""
	})
}

// round measures each contender of a workload once.
func (rep *report) round(ctx context.Context, cfg config, w workload, round int) error {
	if w.Capacity > 0 {
		capacity, err := capacityOf(ctx, cfg, w, round)
		if err != nil {
			return err
		}
		w.Rate = float64(int(capacity * w.Capacity))
	}
	names := present(cfg, rep.Missing, w)
	for i := range names {
		name := names[(i+round)%len(names)] // nobody always comes first
		for try := 0; ; try++ {
			s := measure(ctx, cfg, name, w, round)
			if err := ctx.Err(); err != nil {
				return err
			}
			progress(s, w)
			if s.Failure == "" && (try < cfg.Repeat && s.Foreign >= noisy || w.calm && try < calms && disturbed(s) != "") {
				log.Printf("that again: %s", disturbed(s))
				rep.Repeated = append(rep.Repeated, s) // what decides is what others did, never the figure
				continue
			}
			rep.Samples = append(rep.Samples, s)
			break
		}
	}
	return nil
}

// estimate is about how long the rounds take.
func estimate(cfg config, missing map[string]string) (d time.Duration) {
	for _, w := range cfg.workloads {
		each := time.Duration((w.seconds(cfg.Seconds)+cfg.Warmup)*float64(time.Second)) + 150*time.Millisecond
		if w.quiet {
			each *= 2
		}
		switch w.Kind {
		case "idle":
			each = 1200 * time.Millisecond
		case "http", "https-idle":
			each = 4 * time.Second
		case "slow-readers":
			each = 5 * time.Second
		}
		d += time.Duration(len(present(cfg, missing, w))) * each * time.Duration(w.rounds(cfg.Rounds))
	}
	return d
}

func progress(s sample, w workload) {
	at := fmt.Sprintf("round %d  %-12s %-19s", s.Round+1, s.Workload, s.Contender)
	if s.Failure != "" {
		log.Printf("%s FAILED: %s", at, s.Failure)
		return
	}
	o := s.Outcome
	log.Printf("%s %9.4g %s, %8.0f/s, server busy %3.0f %%, others %2.0f %%", at, s.Figure, w.Unit,
		float64(o.Count)/o.Elapsed.Seconds(), 100*o.CPU.Seconds()/o.Elapsed.Seconds(), 100*s.Foreign)
}
