// Micro runs the Go benchmarks of all packages and sums up what they come to.
//
//	go run ./bench/micro                                   # all of them: several minutes
//	go run ./bench/micro -bench 'Spawn|Mutex' ./sched ./syncx
//	go run ./bench/micro -samples 50 -time 100ms -json micro.json ./timer
//
// Each benchmark runs -samples times for -time each, after one run that warms up and does not
// count. The table has the median of the samples, their 95th and 99th percentile (nearest rank:
// with 20 samples both are close to the worst) and allocations. A percentile is of samples, each a
// mean of many iterations, and not of iterations.
//
// The exit status is 1 if a package does not build or a benchmark fails; what others have come to
// is still printed.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

func main() {
	bench := flag.String("bench", ".", "`pattern` of benchmarks, as for go test")
	samples := flag.Int("samples", 20, "`number` of samples of each")
	each := flag.Duration("time", 50*time.Millisecond, "`time` that a sample takes")
	file := flag.String("json", "", "also write everything to this `file`")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	if *samples < 1 || *each <= 0 {
		fmt.Fprintln(os.Stderr, "micro: -samples and -time start above 0")
		os.Exit(2)
	}
	all, err := measure(*bench, *samples, *each, packages)
	writeTable(os.Stdout, all)
	if *file != "" {
		text, err2 := json.MarshalIndent(all, "", "  ")
		if err2 == nil {
			err2 = os.WriteFile(*file, append(text, '\n'), 0o644)
		}
		if err == nil {
			err = err2
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "micro:", err)
		os.Exit(1)
	}
}

// measure runs go test, one package at a time, so that they do not disturb each other.
func measure(bench string, samples int, each time.Duration, packages []string) ([]benchmark, error) {
	args := append([]string{"test", "-p", "1", "-run", "^$", "-bench", bench, "-benchmem", "-timeout", "0",
		"-benchtime", each.String(), "-count", strconv.Itoa(samples + 1)}, packages...)
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	all, err := parse(out, os.Stderr)
	if ended := cmd.Wait(); ended != nil {
		return all, fmt.Errorf("go %s: %w", strings.Join(args, " "), ended)
	}
	return all, err
}

func writeTable(w io.Writer, all []benchmark) {
	pkg := ""
	for _, b := range all {
		if b.Package != pkg {
			pkg = b.Package
			fmt.Fprintf(w, "\n### %s\n\n| benchmark | unit | median | p95 | p99 | B/op | allocs/op |\n| :-- | :-- | --: | --: | --: | --: | --: |\n", pkg)
		}
		for _, unit := range b.units() {
			s := b.summary(unit)
			fmt.Fprintf(w, "| %s | %s | %.4g | %.4g | %.4g | %.4g | %.4g |\n", strings.ReplaceAll(b.Name, "|", "\\|"), unit,
				s.Median, s.P95, s.P99, b.summary("B/op").Median, b.summary("allocs/op").Median)
		}
	}
}
