package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A benchmark is what one came to.
type benchmark struct {
	Package string               `json:"package"`
	Name    string               `json:"name"`
	Samples map[string][]float64 `json:"samples"` // by unit; the first, which warms up, is not there
	runs    int
}

// A summary is of the samples in one unit.
type summary struct{ Median, P95, P99 float64 }

func (b *benchmark) summary(unit string) summary {
	xs := slices.Sorted(slices.Values(b.Samples[unit]))
	if len(xs) == 0 {
		return summary{}
	}
	median := xs[len(xs)/2]
	if len(xs)%2 == 0 {
		median = (xs[len(xs)/2-1] + median) / 2
	}
	at := func(share float64) float64 { return xs[max(0, int(math.Ceil(share*float64(len(xs))))-1)] } // nearest rank
	return summary{median, at(0.95), at(0.99)}
}

// units are those that a row is for: times first, and not the memory, which has columns.
func (b *benchmark) units() []string {
	units := slices.Sorted(maps.Keys(b.Samples))
	units = slices.DeleteFunc(units, func(u string) bool { return u == "B/op" || u == "allocs/op" || u == "ns/op" })
	if len(b.Samples["ns/op"]) > 0 {
		units = append([]string{"ns/op"}, units...)
	}
	return units
}

// parse reads the output of go test, and passes on lines that are no sample. Benchmarks come in the
// order of their first run.
func parse(r io.Reader, rest io.Writer) ([]benchmark, error) {
	var all []*benchmark
	pkg := ""
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if name, ok := strings.CutPrefix(in.Text(), "pkg: "); ok {
			pkg = name
			fmt.Fprintln(rest, pkg)
			continue
		}
		name, values, ok := sample(in.Text())
		if !ok {
			if interesting(in.Text()) {
				fmt.Fprintln(rest, in.Text())
			}
			continue
		}
		i := slices.IndexFunc(all, func(b *benchmark) bool { return b.Package == pkg && b.Name == name })
		if i < 0 {
			i = len(all)
			all = append(all, &benchmark{Package: pkg, Name: name, Samples: map[string][]float64{}})
		}
		b := all[i]
		if b.runs++; b.runs == 1 {
			continue // it warms up
		}
		for unit, value := range values {
			b.Samples[unit] = append(b.Samples[unit], value)
		}
	}
	var done []benchmark
	for _, b := range all {
		done = append(done, *b)
	}
	return done, in.Err()
}

// interesting leaves out what go test says of every package.
func interesting(line string) bool {
	for _, dull := range []string{"goos: ", "goarch: ", "cpu: ", "PASS", "ok ", "?", "\tgithub.com/", "---"} {
		if strings.HasPrefix(line, dull) {
			return strings.HasPrefix(line, "--- FAIL")
		}
	}
	return strings.TrimSpace(line) != ""
}

// sample reads a line as "BenchmarkName-2  1000  123 ns/op  4 B/op".
func sample(line string) (name string, values map[string]float64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return "", nil, false
	}
	if _, err := strconv.Atoi(f[1]); err != nil {
		return "", nil, false
	}
	values = map[string]float64{}
	for i := 2; i < len(f); i += 2 {
		x, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return "", nil, false
		}
		values[f[i+1]] = x
	}
	return strings.TrimPrefix(f[0], "Benchmark"), values, true
}
