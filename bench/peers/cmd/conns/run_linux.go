package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
)

// sample is one run.
type sample struct {
	Contender string  `json:"contender"`
	Workload  string  `json:"workload"`
	Round     int     `json:"round"`
	Outcome   outcome `json:"outcome"`
	Figure    float64 `json:"figure"` // in the workload's unit
	Failure   string  `json:"failure,omitempty"`
}

// run measures everything and prints the report. It reports whether nothing failed.
func run(ctx context.Context, cfg config) (ok bool, err error) {
	var samples []sample
	ok = true
	for round := range cfg.Rounds {
		for _, w := range cfg.workloads {
			for i := range cfg.Names {
				name := cfg.Names[(i+round)%len(cfg.Names)] // nobody always comes first
				s := measure(ctx, cfg, name, w, round)
				if ctx.Err() != nil {
					return false, ctx.Err()
				}
				progress(s, w)
				samples = append(samples, s)
				ok = ok && s.Failure == ""
			}
		}
	}
	writeMarkdown(os.Stdout, cfg, samples)
	if cfg.json != "" {
		err = writeJSON(cfg, samples)
	}
	return ok, err
}

// measure starts a contender, loads it and stops it.
func measure(ctx context.Context, cfg config, name string, w workload, round int) sample {
	s := sample{Contender: name, Workload: w.Name, Round: round}
	c, err := start(ctx, cfg, name, w)
	if err != nil {
		s.Failure = err.Error()
		return s
	}
	if kinds[w.Kind].idle {
		s.Outcome, err = runIdle(ctx, cfg, c, w)
	} else {
		s.Outcome, err = runLoad(ctx, cfg, c, w)
	}
	c.stop()
	if err != nil {
		s.Failure = err.Error() + c.lastWords()
		return s
	}
	s.Figure = w.figure(s.Outcome)
	return s
}

func progress(s sample, w workload) {
	if s.Failure != "" {
		log.Printf("round %d  %-12s %-15s FAILED: %s", s.Round+1, s.Workload, s.Contender, s.Failure)
		return
	}
	o := s.Outcome
	if o.Elapsed == 0 {
		log.Printf("round %d  %-12s %-15s %9.2f %s", s.Round+1, s.Workload, s.Contender, s.Figure, w.Unit)
		return
	}
	log.Printf("round %d  %-12s %-15s %9.2f %s, %8.0f/s, busy %3.0f %%", s.Round+1, s.Workload, s.Contender, s.Figure, w.Unit,
		float64(o.Count)/o.Elapsed.Seconds(), 100*o.CPU.Seconds()/o.Elapsed.Seconds())
}

func writeJSON(cfg config, samples []sample) error {
	b, err := json.MarshalIndent(map[string]any{"config": cfg, "workloads": cfg.workloads, "samples": samples}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(cfg.json, append(b, '\n'), 0o644)
}
