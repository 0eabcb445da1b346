package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// spread is the median of some rounds with their extremes.
type spread struct{ median, least, most float64 }

// spreadOf takes at least one value.
func spreadOf(xs []float64) spread {
	xs = slices.Sorted(slices.Values(xs))
	mid := len(xs) / 2
	m := xs[mid]
	if len(xs)%2 == 0 {
		m = (xs[mid-1] + xs[mid]) / 2
	}
	return spread{m, xs[0], xs[len(xs)-1]}
}

// pick are the figures of a contender under a workload by rounds; those that failed are not there.
func pick(samples []sample, name string, w workload) map[int]float64 {
	figures := map[int]float64{}
	for _, s := range samples {
		if s.Contender == name && s.Workload == w.Name && s.Failure == "" {
			figures[s.Round] = s.Figure
		}
	}
	return figures
}

// ratios are taken within rounds: what slowed a whole round down cancels out.
func ratios(own, base map[int]float64) (rs []float64) {
	for round, figure := range own {
		if b, ok := base[round]; ok && b > 0 {
			rs = append(rs, figure/b)
		}
	}
	return rs
}

func values(figures map[int]float64) (xs []float64) {
	for _, x := range figures {
		xs = append(xs, x)
	}
	return xs
}

func writeMarkdown(w io.Writer, cfg config, samples []sample) {
	fmt.Fprintf(w, "%s, %d CPUs; servers on CPU %s with one worker, the load on CPU %s. Medians of %d rounds of %g s (least to most).\n",
		runtime.Version(), runtime.NumCPU(), cfg.ServerCPU, cfg.LoadCPU, cfg.Rounds, cfg.Seconds)
	for _, load := range cfg.workloads {
		writeTable(w, cfg, samples, load)
	}
	writeTargets(w, cfg, samples)
}

func writeTable(w io.Writer, cfg config, samples []sample, load workload) {
	fmt.Fprintf(w, "\n### %s\n\n| %s | %s |", load.Title, load.Name, load.Unit)
	for _, b := range cfg.Bases {
		fmt.Fprintf(w, " ÷ %s |", b)
	}
	fmt.Fprintf(w, "\n| :-- | --: |%s\n", strings.Repeat(" --: |", len(cfg.Bases)))
	for _, name := range cfg.Names {
		own := pick(samples, name, load)
		mark := ""
		if len(own) < cfg.Rounds {
			mark = fmt.Sprintf("**✗** %d of %d failed: ", cfg.Rounds-len(own), cfg.Rounds)
		}
		fmt.Fprintf(w, "| %s%s | %s |", mark, name, show(values(own), "%.4g"))
		for _, b := range cfg.Bases {
			fmt.Fprintf(w, " %s |", show(ratios(own, pick(samples, b, load)), "%.2f"))
		}
		fmt.Fprintln(w)
	}
}

func show(xs []float64, format string) string {
	if len(xs) == 0 {
		return "–"
	}
	s := spreadOf(xs)
	if len(xs) == 1 {
		return fmt.Sprintf(format, s.median)
	}
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median, s.least, s.most)
}

// writeTargets says of each goal whether it was reached.
func writeTargets(w io.Writer, cfg config, samples []sample) {
	fmt.Fprint(w, "\nTargets:\n\n")
	for _, load := range cfg.workloads {
		for _, g := range load.targets {
			for _, name := range cfg.Names {
				if !strings.HasPrefix(name, cmp.Or(g.of, "suiro/")) {
					continue
				}
				xs, of := values(pick(samples, name, load)), load.Unit
				if g.base != "" {
					xs, of = ratios(pick(samples, name, load), pick(samples, g.base, load)), "of "+g.base
				}
				if len(xs) > 0 {
					fmt.Fprintf(w, "- %s, %s: %s\n", load.Name, name, verdict(spreadOf(xs).median, g.limit, load.more, of))
				}
			}
		}
	}
}

func verdict(got, limit float64, more bool, of string) string {
	sign, reached := "≤", got <= limit
	if more {
		sign, reached = "≥", got >= limit
	}
	if reached {
		return fmt.Sprintf("%.4g %s, reached (%s %g)", got, of, sign, limit)
	}
	return fmt.Sprintf("%.4g %s, **not reached** (%s %g)", got, of, sign, limit)
}
