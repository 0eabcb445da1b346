package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFirstRunOfEachBenchmarkWarmsUp(t *testing.T) {
	var rest strings.Builder
	all, err := parse(strings.NewReader(`goos: linux
pkg: example.org/a
BenchmarkX-2   	    1000	       900 ns/op	      64 B/op	       1 allocs/op
BenchmarkX-2   	    1000	       100 ns/op	      64 B/op	       1 allocs/op
BenchmarkX-2   	    1000	       120 ns/op	       7.5 p99-ns	      64 B/op	       1 allocs/op
BenchmarkX/100%|b-2   	       1	       5 ns/op
--- FAIL: BenchmarkBroken
    it is broken
PASS
ok  	example.org/a	1.2s
pkg: example.org/b
BenchmarkX-2   	    1000	       1 ns/op
BenchmarkX-2   	    1000	       2 ns/op
`), &rest)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, []float64{100, 120}, all[0].Samples["ns/op"])
	require.Equal(t, []float64{7.5}, all[0].Samples["p99-ns"])
	require.Equal(t, []string{"ns/op", "p99-ns"}, all[0].units())
	require.Empty(t, all[1].Samples, "of one run, which warmed up")
	require.Equal(t, "example.org/b", all[2].Package)
	require.Equal(t, []float64{2}, all[2].Samples["ns/op"])
	require.Contains(t, rest.String(), "--- FAIL: BenchmarkBroken\n    it is broken\n")
	require.NotContains(t, rest.String(), "PASS")

	var table strings.Builder
	writeTable(&table, all)
	require.Contains(t, table.String(), "| X-2 | ns/op | 110 | 120 | 120 | 64 | 1 |\n")
}

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	b := benchmark{Samples: map[string][]float64{}}
	for i := range 100 {
		b.Samples["ns/op"] = append(b.Samples["ns/op"], float64(100-i))
	}
	require.Equal(t, summary{50.5, 95, 99}, b.summary("ns/op"))
	require.Equal(t, summary{}, b.summary("MB/s"))
	b.Samples["x"] = []float64{3, 1, 2}
	require.Equal(t, summary{2, 3, 3}, b.summary("x"))
}

func TestOnlySamplesAreTakenForSuch(t *testing.T) {
	for line, want := range map[string]bool{
		"BenchmarkX-2 10 5 ns/op": true, "BenchmarkX-2": false, "BenchmarkX-2 10": false, "BenchmarkX-2 ten 5 ns/op": false,
		"BenchmarkX-2 10 five ns/op": false, "X-2 10 5 ns/op": false, "": false,
	} {
		_, _, ok := sample(line)
		require.Equal(t, want, ok, fmt.Sprintf("%q", line))
	}
}
