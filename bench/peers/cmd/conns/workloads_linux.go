package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/suiro-go/suiro/bench/load"
)

// A workload is a way to use a server's connections, and the figure that it is measured by.
type workload struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Kind  string `json:"kind"` // of load: one of kinds
	Conns int    `json:"connections"`
	Size  int    `json:"size"`

	more    bool // the higher the figure, the better
	figure  func(outcome) float64
	targets []goal
}

// A goal is what is wanted of Suiro.
type goal struct {
	base  string // a ratio to it; "": the figure itself
	limit float64
	of    string // who is to reach it: those whose names begin so; "": suiro/
}

// An outcome is what one run came to.
type outcome struct {
	load.Result
	Resident int64 `json:"resident_bytes"` // of idle: how much more than before the connections
}

func perConnection(o outcome) float64 { return float64(o.Resident) / float64(o.Count) }

func perMessage(o outcome) float64 { return float64(o.CPU.Nanoseconds()) / 1e3 / float64(o.Count) }

func perSecond(o outcome) float64 { return float64(o.Bytes) / (1 << 20) / o.CPU.Seconds() }

var workloads = []workload{
	{Name: "idle", Title: "Idle connections that have spoken once", Unit: "B of server RSS each", Kind: "idle", Size: 64,
		figure: perConnection, targets: []goal{{base: "", limit: 450}, {base: "gnet", limit: 0.8}}},
	{Name: "http-idle", Title: "Idle connections of HTTP that have had one answer", Unit: "B of server RSS each", Kind: "http", Size: 64,
		figure: perConnection, targets: []goal{{base: "net", limit: 0.15}}},
	{Name: "https", Title: "Requests of HTTP over TLS, 500 connections", Unit: "µs of CPU per request", Kind: "https", Conns: 500, Size: 64,
		figure: perMessage, targets: []goal{{base: "net", limit: 0.9, of: "suiro-h1/"}}},
	{Name: "https-idle", Title: "Idle connections of HTTP over TLS that have had one answer", Unit: "B of server RSS each", Kind: "https-idle", Size: 64,
		figure: perConnection},
	{Name: "churn", Title: "Accept, echo 64 B, close; 64 at a time", Unit: "µs of CPU each", Kind: "churn", Conns: 64, Size: 64,
		figure: perMessage, targets: []goal{{base: "gnet", limit: 0.9}}},
	{Name: "echo64-50", Title: "Echo of 64 B, 50 connections", Unit: "µs of CPU per message", Kind: "echo", Conns: 50, Size: 64, figure: perMessage},
	{Name: "echo64-500", Title: "Echo of 64 B, 500 connections", Unit: "µs of CPU per message", Kind: "echo", Conns: 500, Size: 64, figure: perMessage},
	{Name: "echo64-5000", Title: "Echo of 64 B, 5,000 connections", Unit: "µs of CPU per message", Kind: "echo", Conns: 5000, Size: 64,
		figure: perMessage, targets: []goal{{base: "gnet", limit: 0.95}}},
	{Name: "echo16k-50", Title: "Echo of 16 KiB, 50 connections", Unit: "µs of CPU per message", Kind: "echo", Conns: 50, Size: 16 << 10,
		figure: perMessage, targets: []goal{{base: "gnet", limit: 0.95}}},
	{Name: "echo16k-500", Title: "Echo of 16 KiB, 500 connections", Unit: "µs of CPU per message", Kind: "echo", Conns: 500, Size: 16 << 10,
		figure: perMessage, targets: []goal{{base: "gnet", limit: 0.95}}},
	{Name: "stream", Title: "Chunks of 1 MiB sent on request, 4 connections", Unit: "MiB per CPU second", Kind: "chunks", Conns: 4, Size: load.ChunkSize,
		more: true, figure: perSecond, targets: []goal{{base: "net", limit: 1.2}}},
	{Name: "stream-echo", Title: "Echo of 1 MiB, 4 connections", Unit: "MiB per CPU second", Kind: "echo", Conns: 4, Size: 1 << 20,
		more: true, figure: perSecond, targets: []goal{{base: "net", limit: 1.2}}},
}

func workloadNames() (names []string) {
	for _, w := range workloads {
		names = append(names, w.Name)
	}
	return names
}

// chooseWorkloads are those whose names begin with one of these; all of them for none.
func chooseWorkloads(names []string) ([]workload, error) {
	if len(names) == 0 {
		return workloads, nil
	}
	means := func(name string) func(workload) bool {
		return func(w workload) bool { return w.Name == name || strings.HasPrefix(w.Name, name+"-") }
	}
	for _, name := range names {
		if !slices.ContainsFunc(workloads, means(name)) {
			return nil, fmt.Errorf("there is no workload %q; there are %s", name, strings.Join(workloadNames(), " "))
		}
	}
	var chosen []workload
	for _, w := range workloads {
		if slices.ContainsFunc(names, func(name string) bool { return means(name)(w) }) {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}
