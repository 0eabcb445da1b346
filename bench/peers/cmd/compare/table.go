package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	saturated = 0.97 // wrk's share of its CPU from which on it limits the request rate
	noisy     = 0.05 // others' share of the server's CPU from which on a run is suspect
)

// writeMarkdown prints the report for people: a table per workload, and below it what they must know.
func writeMarkdown(w io.Writer, rep report, wanted []contender, loads []workload) {
	e := rep.Environment
	fmt.Fprintf(w, "%s; %s, %d CPUs, Linux %s; %s, gcc %s, wrk %s; commit %s\n\n",
		e.Date, e.CPU, e.CPUs, e.Kernel, e.Go, e.GCC, e.Wrk, e.Commit)
	fmt.Fprintf(w, "Medians of %d rounds of %d s (min–max); one server CPU, one wrk CPU. "+
		"Ratios are medians of each round's ratio to the base; CPU ratios above 1 cost more than the base.\n",
		rep.Config.Rounds, rep.Config.Seconds)
	for _, l := range loads {
		fmt.Fprintf(w, "\n### %s\n\n", l)
		writeTable(w, rep, wanted, l)
	}
	writeNotes(w, rep)
}

func writeTable(w io.Writer, rep report, wanted []contender, l workload) {
	head := []string{"server", "req/s", "CPU µs/req", "user", "sys", "wrk CPU", "errors"}
	for _, b := range rep.Config.Bases {
		head = append(head, "req/s ÷ "+b, "CPU ÷ "+b)
	}
	line(w, head)
	rule := slices.Repeat([]string{"--:"}, len(head))
	rule[0] = ":--"
	line(w, rule)
	for _, c := range wanted {
		line(w, cellsOf(rep, c.name, l, len(head)))
	}
}

func line(w io.Writer, cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

func cellsOf(rep report, name string, l workload, width int) []string {
	title := name
	if v := rep.Environment.Versions[name]; v != "" {
		title += " " + v
	}
	i := slices.IndexFunc(rep.Rows, func(r row) bool { return r.Contender == name && r.Workload == l })
	if i < 0 {
		return append([]string{title, "**missing**"}, slices.Repeat([]string{"–"}, width-2)...)
	}
	r := rep.Rows[i]
	errs := "0"
	if r.Failed > 0 {
		title = "**✗** " + title
		errs = fmt.Sprintf("**%d; %d of %d rounds failed**", r.Errors, r.Failed, r.Rounds)
	}
	if r.Failed == r.Rounds {
		return append([]string{title, "–", "–", "–", "–", "–", errs}, slices.Repeat([]string{"–"}, width-7)...)
	}
	cells := []string{title, thousands(r.Rate), micros(r.CPU), sig(r.User.Median), sig(r.Sys.Median),
		fmt.Sprintf("%.0f %%", 100*r.LoadCPU.Median), errs}
	for _, q := range r.Ratios {
		if q.Used == 0 {
			cells = append(cells, "–", "–")
			continue
		}
		cells = append(cells, fmt.Sprintf("%.3f", q.Rate.Median), fmt.Sprintf("%.3f", q.CPU.Median))
	}
	return cells
}

func thousands(s spread) string {
	return fmt.Sprintf("%.1f k (%.1f–%.1f)", s.Median/1e3, s.Min/1e3, s.Max/1e3)
}

func micros(s spread) string {
	return fmt.Sprintf("%s (%s–%s)", sig(s.Median), sig(s.Min), sig(s.Max))
}

// sig prints three significant digits of a time in microseconds.
func sig(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// writeNotes lists what makes figures above unusable or doubtful.
func writeNotes(w io.Writer, rep report) {
	var notes []string
	for _, c := range contenders {
		if why, missing := rep.Missing[c.name]; missing {
			notes = append(notes, fmt.Sprintf("missing: %s: %s", c.name, why))
		}
	}
	for _, s := range rep.Samples {
		if s.failed() {
			why := s.Failure
			if why == "" {
				why = s.Load.String()
			}
			if s.Foreign >= noisy {
				why += fmt.Sprintf(" (others used %.0f %% of its CPU)", 100*s.Foreign)
			}
			notes = append(notes, fmt.Sprintf("✗ %s, %s, round %d: %s", s.Contender, s.Workload, s.Round+1, why))
		}
	}
	var full, loud []string
	for _, r := range rep.Rows {
		at := fmt.Sprintf("%s (%d×%d)", r.Contender, r.Workload.Connections, r.Workload.Depth)
		if r.LoadCPU.Median >= saturated {
			full = append(full, at)
		}
		if r.Foreign.Max >= noisy {
			loud = append(loud, fmt.Sprintf("%s %.0f %%", at, 100*r.Foreign.Max))
		}
	}
	if len(full) > 0 {
		notes = append(notes, "wrk was the limit, so compare CPU per request and not req/s: "+strings.Join(full, ", "))
	}
	if len(loud) > 0 {
		notes = append(notes, "others used the server's CPU too (worst round): "+strings.Join(loud, ", "))
	}
	if n := len(rep.Repeated); n > 0 {
		notes = append(notes, fmt.Sprintf("%d runs were disturbed and repeated (-repeat %d)", n, rep.Config.Repeat))
	}
	if len(notes) == 0 {
		return
	}
	fmt.Fprint(w, "\nNotes (connections×depth):\n\n")
	for _, n := range notes {
		fmt.Fprintf(w, "- %s\n", n)
	}
}
