package figures_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/bench/figures"
)

var update = flag.Bool("update", false, "write the table into README.md")

func run(date string, ratio float64) figures.Run {
	return figures.Run{Date: date, Commit: "c", CPU: "A CPU",
		Ratios: map[string]map[string]float64{figures.Headlines[0].Key(): {"epoll": ratio}}}
}

func TestTheTableTellsTheRangeOfAllRuns(t *testing.T) {
	var h figures.History
	require.NotContains(t, h.Table(), "echo64-50", "no run has measured it")
	h.Add(run("2026-01-02T03:04:05Z", 0.9))
	require.Contains(t, h.Table(), "| 64 B echo, 50 connections: CPU | package net | 0.90 | – | `echo64-50` |")
	h.Add(run("2026-01-03T03:04:05Z", 0.8))
	h.Add(run("2026-01-03T04:04:05Z", 1.25))
	table := h.Table()
	require.Contains(t, table, "| 0.80–1.25 | – |")
	require.Contains(t, table, "Least and most of the medians of up to 3 runs: 2026-01-02, 2026-01-03.\nMachines: A CPU.")
	require.Equal(t, 1, strings.Count(table, "` |\n"))
}

func TestTheOldestRunsAreDropped(t *testing.T) {
	var h figures.History
	for i := range figures.Kept + 2 {
		h.Add(run(fmt.Sprintf("2026-01-%02dT03:04:05Z", i+1), float64(i)))
	}
	require.Len(t, h.Runs, figures.Kept)
	require.Equal(t, 2.0, h.Runs[0].Ratios[figures.Headlines[0].Key()]["epoll"])
	last := h.Runs[figures.Kept-1]
	h.Add(last)
	require.Len(t, h.Runs, figures.Kept, "a run that is shown again is not another one")
}

func TestAHistoryIsKeptInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.json")
	h, err := figures.Load(file)
	require.NoError(t, err)
	require.Empty(t, h.Runs)
	h.Add(run("2026-01-02T03:04:05Z", 0.5))
	require.NoError(t, h.Save(file))
	again, err := figures.Load(file)
	require.NoError(t, err)
	require.Equal(t, h, again)
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = figures.Load(file)
	require.ErrorContains(t, err, "history.json")
}

func TestATableReplacesTheOneBefore(t *testing.T) {
	const readme = "a\n<!-- figures: written by go run ./bench -results bench -->\nold\n<!-- end of figures -->\nb\n"
	want := strings.Replace(readme, "old\n", "new\n", 1)
	got, err := figures.Replace(readme, "new\n")
	require.NoError(t, err)
	require.Equal(t, want, got)
	again, err := figures.Replace(got, "new\n")
	require.NoError(t, err)
	require.Equal(t, want, again)
	_, err = figures.Replace("a\n", "new\n")
	require.Error(t, err)
	_, err = figures.Replace(strings.Replace(readme, "<!-- end of figures -->", "", 1), "new\n")
	require.Error(t, err)
}

func TestReadmeHasTheTableOfTheHistory(t *testing.T) {
	h, err := figures.Load("../history.json")
	require.NoError(t, err)
	require.NotEmpty(t, h.Runs)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	want, err := figures.Replace(string(readme), h.Table())
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("../../README.md", []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(readme), "README.md and bench/history.json differ: go test ./bench/figures -update")
}
