package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

const (
	noisy  = 0.05 // others' share of the CPUs from which on a run is suspect
	target = 2000 // microseconds that p99 is to stay below beside one slow connection
)

func writeMarkdown(w io.Writer, cfg config, samples []sample) {
	where := "shares the servers' CPUs"
	if cfg.ClientCPU != "" {
		where = "is on CPU " + cfg.ClientCPU
	}
	fmt.Fprintf(w, "%s, %d CPUs. %d connections, %d messages/s of %d bytes on each but the slow ones, whose handler burns "+
		"%.1f ms of CPU; servers on CPUs %s with %d workers; the client (priority %s) %s. Medians of %d rounds of %g s.\n",
		runtime.Version(), runtime.NumCPU(), cfg.Connections, cfg.Rate, messageSize, cfg.BurnTime.Seconds()*1e3,
		cfg.CPUs, serverCPUs, priorities(samples), where, cfg.Rounds, cfg.Seconds)
	writeTable(w, samples, "Control: no slow connection", []string{base}, 0)
	for _, slow := range cfg.Slow {
		writeTable(w, samples, fmt.Sprintf("%d slow", slow), cfg.names, slow)
	}
	writeNotes(w, cfg, samples)
}

func priorities(samples []sample) string {
	var seen []string
	for _, s := range samples {
		if p := s.Result.Priority; p != "" && !slices.Contains(seen, p) {
			seen = append(seen, p)
		}
	}
	return strings.Join(seen, ", ")
}

func writeTable(w io.Writer, samples []sample, title string, names []string, slow int) {
	fmt.Fprintf(w, "\n### %s\n\n", title)
	fmt.Fprintln(w, "| server | p50 ms | p90 ms | p99 ms | max ms | slow/s | client late p99 ms, max | p50 ÷ net | p99 ÷ net | slow ÷ net |")
	fmt.Fprintln(w, "| :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
	for _, name := range names {
		own := pick(samples, name, slow)
		if len(own) == 0 {
			fmt.Fprintf(w, "| **✗** %s | – | – | – | – | – | – | – | – | – |\n", name)
			continue
		}
		over := func(value func(result) float64) float64 { return medianOver(own, value) }
		ratio := func(value func(result) float64) string { return ratioTo(own, pick(samples, base, slow), value) }
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.1f | %s, %s | %s | %s | %s |\n", name,
			millis(over(p50)), millis(over(p90)), millis(over(p99)), millis(over(most)), over(slowRate),
			millis(over(lateP99)), millis(over(lateMax)), ratio(p50), ratio(p99), ratio(slowRate))
	}
}

// What the columns show of a run, in microseconds.
func p50(r result) float64      { return r.Latency.P50 }
func p90(r result) float64      { return r.Latency.P90 }
func p99(r result) float64      { return r.Latency.P99 }
func most(r result) float64     { return r.Latency.Max }
func slowRate(r result) float64 { return r.SlowRate }
func lateP99(r result) float64  { return r.Late.P99 }
func lateMax(r result) float64  { return r.Late.Max }

func millis(micros float64) string { return fmt.Sprintf("%.3f", micros/1e3) }

// pick is a contender's runs that did not fail.
func pick(samples []sample, name string, slow int) (own []sample) {
	for _, s := range samples {
		if s.Contender == name && s.Slow == slow && s.Failure == "" {
			own = append(own, s)
		}
	}
	return own
}

func medianOver(samples []sample, value func(result) float64) float64 {
	var xs []float64
	for _, s := range samples {
		xs = append(xs, value(s.Result))
	}
	return median(xs)
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	mid := len(xs) / 2
	if len(xs)%2 == 0 {
		return (xs[mid-1] + xs[mid]) / 2
	}
	return xs[mid]
}

// ratioTo takes ratios within rounds, what slowed a whole round down cancels out, and prints their median.
func ratioTo(own, bases []sample, value func(result) float64) string {
	var xs []float64
	for _, s := range own {
		for _, b := range bases {
			if b.Round == s.Round && value(b.Result) > 0 {
				xs = append(xs, value(s.Result)/value(b.Result))
			}
		}
	}
	if len(xs) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", median(xs))
}

// writeNotes says what Suiro is to reach and whether it did, and what makes figures doubtful.
func writeNotes(w io.Writer, cfg config, samples []sample) {
	var notes []string
	for _, name := range cfg.names {
		if own := pick(samples, name, 1); strings.HasPrefix(name, "suiro/") && len(own) > 0 {
			got := medianOver(own, p99)
			notes = append(notes, fmt.Sprintf("%s beside 1 slow connection: p99 %s ms, target 2 ms: %s", name, millis(got), verdict(got <= target)))
		}
		own, bases := pick(samples, name, 8), pick(samples, base, 8)
		if strings.HasPrefix(name, "suiro/") && len(own) > 0 && len(bases) > 0 {
			got, other := medianOver(own, p50), medianOver(bases, p50)
			notes = append(notes, fmt.Sprintf("%s beside 8: p50 %s ms, target that of net, %s ms: %s",
				name, millis(got), millis(other), verdict(got <= other)))
		}
	}
	worst := 0.0
	for _, s := range samples {
		worst = max(worst, s.Foreign)
		if s.Failure != "" {
			notes = append(notes, fmt.Sprintf("✗ %s, %d slow, round %d: %s", s.Contender, s.Slow, s.Round+1, s.Failure))
		}
	}
	if worst >= noisy {
		notes = append(notes, fmt.Sprintf("others used up to %.0f %% of these CPUs during a run: do not quote it", 100*worst))
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "\nNotes:\n\n- %s\n", strings.Join(notes, "\n- "))
	}
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}
