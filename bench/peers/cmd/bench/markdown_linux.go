package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// saturated is the load's share of its CPU from which on it limits the rate.
const saturated = 0.97

// writeMarkdown prints the report for people: a table per workload, and what they must know.
func writeMarkdown(w io.Writer, rep *report) {
	writeHead(w, rep)
	for _, load := range rep.Workloads {
		fmt.Fprintf(w, "\n### %s: %s\n\n", load.Name, load.Title)
		writeTable(w, rep, load)
		writeMerged(w, rep, load)
	}
	writeTargets(w, rep)
	writeNotes(w, rep)
}

func writeHead(w io.Writer, rep *report) {
	e, c := rep.Environment, rep.Config
	fmt.Fprintf(w, "%s; %s, %d CPUs, Linux %s; %s, gcc %s; commit %s; `%s`, which took %v.\n\n",
		e.Date, e.CPU, e.CPUs, e.Kernel, e.Go, e.GCC, e.Commit, c.Command, rep.Took.Round(time.Second))
	fmt.Fprintf(w, "Servers on CPU %s with one worker or event loop, the load on CPU %s; medians of %d rounds of %g s, 2 at most of memory (least–most). "+
		"Ratios are medians of each round's ratio: below 1 Suiro costs less, unless more is better.\n", c.ServerCPU, c.LoadCPU, c.Rounds, c.Seconds)
}

// heading begins a table whose first column is text.
func heading(w io.Writer, head []string) {
	line(w, head)
	rule := slices.Repeat([]string{"--:"}, len(head))
	rule[0] = ":--"
	line(w, rule)
}

func line(w io.Writer, cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

// An extra is a column beside the figure and the ratios.
type extra struct {
	title string
	of    func(sample) float64
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func extrasOf(load workload) []extra {
	each := []extra{
		{"per second", func(s sample) float64 { return float64(s.Outcome.Count) / s.Outcome.Elapsed.Seconds() }},
		{"p50 µs", func(s sample) float64 { return micros(s.Outcome.Latency.P50) }},
		{"p99 µs", func(s sample) float64 { return micros(s.Outcome.Latency.P99) }},
		{"kernel %", func(s sample) float64 {
			return 100 * s.Outcome.System.Seconds() / max(1e-9, (s.Outcome.User+s.Outcome.System).Seconds())
		}},
		{"server MiB", func(s sample) float64 { return float64(s.Outcome.Resident) / (1 << 20) }},
	}
	switch {
	case load.memory():
		return each[4:]
	case load.Rate > 0 || load.Capacity > 0:
		shown := []extra{each[0], each[1]}
		if load.quiet {
			shown = append(shown, extra{"quiet p99 µs", func(s sample) float64 { return micros(quietOf(s).P99) }},
				extra{"quiet p99.9 µs", func(s sample) float64 { return micros(quietOf(s).P999) }}, extra{"p99 ÷ quiet", overQuiet.of})
		}
		return append(shown,
			extra{"p99.9 µs", func(s sample) float64 { return micros(s.Outcome.Latency.P999) }},
			extra{"sent late, p99 µs", func(s sample) float64 { return micros(s.Outcome.Late.P99) }},
			extra{"slow per second", slowOnes.of},
			extra{"µs of CPU each", func(s sample) float64 { return cpuEach(s.Outcome) }})
	}
	return each
}

func writeTable(w io.Writer, rep *report, load workload) {
	bases, extras := basesOf(rep.Config, load), extrasOf(load)
	head := []string{"server", load.Unit}
	for _, b := range bases {
		head = append(head, "÷ "+b)
	}
	for _, x := range extras {
		head = append(head, x.title)
	}
	heading(w, head)
	for _, name := range contendersOf(rep.Config, load) {
		own := pick(rep.Samples, name, load.Name)
		cells := []string{title(rep, load, name, own), show(values(own, figure))}
		for _, b := range bases {
			cells = append(cells, times(ratios(own, pick(rep.Samples, b, load.Name))))
		}
		for _, x := range extras {
			if len(own) == 0 {
				cells = append(cells, "–")
				continue
			}
			cells = append(cells, number(spreadOf(values(own, x.of)).median))
		}
		line(w, cells)
	}
}

// title names a contender, and says if it was not there, or failed.
func title(rep *report, load workload, name string, own []sample) string {
	r, _ := find(name, load.Kind)
	if r.file == "" && rep.Missing[r.binary] != "" {
		return "**missing:** " + name
	}
	if v := rep.Environment.versionOf(name); v != "" {
		name += " " + v
	}
	failed := 0
	for _, s := range rep.Samples {
		if base, _, _ := strings.Cut(name, " "); s.Contender == base && s.Workload == load.Name && s.Failure != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Sprintf("**✗** %d of %d failed: %s", failed, failed+len(own), name)
	}
	return name
}

// writeNotes lists the reasons why figures above are unusable or doubtful.
func writeNotes(w io.Writer, rep *report) {
	var notes []string
	for _, binary := range slices.Sorted(maps.Keys(rep.Missing)) {
		notes = append(notes, fmt.Sprintf("missing: %s: %s", binary, rep.Missing[binary]))
	}
	loud, full := map[string]float64{}, map[string]bool{}
	for _, s := range rep.Samples {
		if s.Failure != "" {
			notes = append(notes, fmt.Sprintf("✗ %s, %s, round %d: %s", s.Contender, s.Workload, s.Round+1, s.Failure))
		}
		if s.Foreign >= noisy {
			loud[s.Workload] = max(loud[s.Workload], s.Foreign)
		}
		full[s.Workload] = full[s.Workload] || s.Rate == 0 && s.Outcome.LoadCPU.Seconds() > saturated*max(s.Outcome.Elapsed.Seconds(), 1e-9)
	}
	var noise, limited []string
	for _, load := range rep.Workloads {
		if loud[load.Name] > 0 {
			noise = append(noise, fmt.Sprintf("%s %.0f %%", load.Name, 100*loud[load.Name]))
		}
		if full[load.Name] {
			limited = append(limited, load.Name)
		}
	}
	if len(noise) > 0 {
		notes = append(notes, "others used the servers' CPUs too, in the worst round: "+strings.Join(noise, ", ")+". Do not quote latencies of those")
	}
	if len(limited) > 0 {
		notes = append(notes, "the load was the limit of some, so compare CPU per message and not messages per second: "+strings.Join(limited, ", "))
	}
	again := map[string]int{}
	for _, s := range rep.Repeated {
		again[s.Workload]++
	}
	for _, name := range slices.Sorted(maps.Keys(again)) {
		notes = append(notes, fmt.Sprintf("%s: %d runs were disturbed and measured again: others had the CPU, or the load itself was late", name, again[name]))
	}
	still := map[string]int{}
	for _, w := range rep.Workloads {
		for _, s := range rep.Samples {
			if w.calm && s.Workload == w.Name && s.Failure == "" && disturbed(s) != "" {
				still[w.Name]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(still)) {
		notes = append(notes, fmt.Sprintf("%s: %d runs stand although they were disturbed, each time", name, still[name]))
	}
	notes = append(notes, refusals(rep.Samples)...)
	if len(rep.Skipped) > 0 {
		notes = append(notes, "there was no time for "+strings.Join(rep.Skipped, ", "))
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "\n### Notes\n\n- %s\n", strings.Join(notes, "\n- "))
	}
}
