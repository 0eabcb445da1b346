// Package figures keeps the ratios that README tells: one row for each headline, over the last
// runs of the benchmark. go run ./bench -results bench adds a run and renews the table.
package figures

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Kept is how many runs a History keeps: the newest.
const Kept = 8

// Backends are the columns of the table.
var Backends = []string{"epoll", "io_uring"}

// A Headline is a row of the table: one figure of one workload, as a ratio to one peer. A ratio
// below 1 says that Suiro costs less.
type Headline struct {
	Workload string // of the benchmark
	Server   string // Suiro's contender, without its backend
	Peer     string
	Text     string // the row's first cell
	Versus   string // the peer's name for readers
}

// Key names a headline in a History.
func (h Headline) Key() string { return h.Workload + " " + h.Server + " / " + h.Peer }

// Command is what measures the headline alone.
func (h Headline) Command() string {
	return fmt.Sprintf("go run ./bench -workloads %s -peers %s,%s", h.Workload, h.Server, h.Peer)
}

// Headlines are the rows of README's table, wins and losses. That of http-500 is of examples/http,
// and that of https is of callbacks with the same parser, not of server.HTTP.
var Headlines = []Headline{
	{"echo64-50", "suiro", "net", "64 B echo, 50 connections: CPU", "package net"},
	{"echo64-500", "suiro", "gnet", "64 B echo, 500 connections: CPU", "gnet"},
	{"echo64-5000", "suiro", "tokio", "64 B echo, 5,000 connections: CPU", "Tokio"},
	{"http-500", "suiro", "gnet", "HTTP in callbacks, 500 connections: CPU", "gnet, no parser"},
	{"https", "suiro-h1", "net", "HTTPS in callbacks, 500 connections: CPU", "net/http"},
	{"churn", "suiro", "gnet", "Connect, echo, close: CPU", "gnet"},
	{"udp", "suiro", "net", "64 B datagram echo: CPU", "package net"},
	{"proxy-echo", "suiro", "haproxy", "64 B echo through a proxy: CPU", "HAProxy"},
	{"idle", "suiro", "net", "Idle connection: memory", "package net"},
	{"skew-8", "suiro", "net", "Echo while 8 % of handlers compute: p99", "package net"},
}

// A Run is the headlines of one run of the benchmark.
type Run struct {
	Date   string                        `json:"date"` // RFC 3339
	Commit string                        `json:"commit"`
	CPU    string                        `json:"cpu"`
	Ratios map[string]map[string]float64 `json:"ratios"` // by key and backend: the median of the rounds' ratios
}

// A History is the last runs, the oldest first.
type History struct {
	Runs []Run `json:"runs"`
}

// Load reads a history. A file that is missing is an empty history.
func Load(file string) (h History, err error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return h, fmt.Errorf("the history of runs %s: %w", file, err)
	}
	return h, nil
}

// Add adds a run to the history, or replaces the one of the same date, and drops the oldest above
// Kept.
func (h *History) Add(r Run) {
	h.Runs = slices.DeleteFunc(h.Runs, func(old Run) bool { return old.Date == r.Date })
	h.Runs = append(h.Runs, r)
	h.Runs = h.Runs[max(0, len(h.Runs)-Kept):]
}

// Save writes the history.
func (h History) Save(file string) error {
	text, err := json.MarshalIndent(h, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Table is the table of README: for each headline the least and the most of the runs' medians. It
// has no row for a headline that no run has measured.
func (h History) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| Figure | Suiro ÷ | %s | workload |\n| :-- | :-- | %s:-- |\n",
		strings.Join(Backends, " | "), strings.Repeat("--: | ", len(Backends)))
	for _, line := range Headlines {
		if !h.has(line.Key()) {
			continue
		}
		cells := []string{line.Text, line.Versus}
		for _, backend := range Backends {
			cells = append(cells, h.between(line.Key(), backend))
		}
		fmt.Fprintf(&b, "| %s | `%s` |\n", strings.Join(cells, " | "), line.Workload)
	}
	machines, days := map[string]bool{}, map[string]bool{}
	for _, r := range h.Runs {
		day, _, _ := strings.Cut(r.Date, "T")
		machines[r.CPU], days[day] = true, true
	}
	if len(h.Runs) > 0 {
		fmt.Fprintf(&b, "\nLeast and most of the medians of up to %d runs: %s.\nMachines: %s.\n", len(h.Runs),
			strings.Join(slices.Sorted(maps.Keys(days)), ", "), strings.Join(slices.Sorted(maps.Keys(machines)), ", "))
	}
	return b.String()
}

// has reports whether a run has measured a headline.
func (h History) has(key string) bool {
	return slices.ContainsFunc(h.Runs, func(r Run) bool { return len(r.Ratios[key]) > 0 })
}

// between is the range of a ratio; "–": no run has it.
func (h History) between(key, backend string) string {
	var all []float64
	for _, r := range h.Runs {
		if ratio, ok := r.Ratios[key][backend]; ok {
			all = append(all, ratio)
		}
	}
	if len(all) == 0 {
		return "–"
	}
	least, most := fmt.Sprintf("%.2f", slices.Min(all)), fmt.Sprintf("%.2f", slices.Max(all))
	if least == most {
		return least
	}
	return least + "–" + most
}

// The table stands between two comments in README.
const (
	begin = "<!-- figures: written by go run ./bench -results bench -->\n"
	end   = "<!-- end of figures -->"
)

// Replace puts a table into the text of README.
func Replace(readme, table string) (string, error) {
	before, rest, ok := strings.Cut(readme, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("README.md has no %q with %q below it", strings.TrimSpace(begin), end)
	}
	return before + begin + table + end + after, nil
}
