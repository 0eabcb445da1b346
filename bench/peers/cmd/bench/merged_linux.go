package main

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

// A statistic is a figure of all runs of a contender together: over(runs)(draw) is that of the
// drawn runs. A run may be drawn more than once.
type statistic struct {
	title string
	over  func(runs []sample) func(draw []int) float64
}

// merged are the statistics that have an interval. The first is of all messages of all rounds: one
// bad interval of one run can decide it. The second is of the times in the proxy. The third is of
// the slices of 100 ms, where a bad interval counts no more than any other.
var merged = []statistic{
	{"p99 of all", quantile(fromStart, 0.99)},
	{"p99 in the proxy", quantile(inProxy, 0.99)},
	{"p99 in the middle 100 ms", middleSlice},
}

func fromStart(s sample) []load.Count { return s.Outcome.Latency.Counts }

func inProxy(s sample) []load.Count { return s.Outcome.Passage.Counts }

// quantile is that of all messages of the runs, in µs.
func quantile(of func(sample) []load.Count, q float64) func([]sample) func([]int) float64 {
	return func(runs []sample) func([]int) float64 {
		seen := map[time.Duration]bool{}
		for _, s := range runs {
			for _, c := range of(s) {
				seen[c.Took] = true
			}
		}
		times := slices.Sorted(maps.Keys(seen))
		counts := make([][]int64, len(runs)) // by time
		for i, s := range runs {
			counts[i] = make([]int64, len(times))
			for _, c := range of(s) {
				at, _ := slices.BinarySearch(times, c.Took)
				counts[i][at] += c.N
			}
		}
		return func(draw []int) float64 {
			sum, total := make([]int64, len(times)), int64(0)
			for _, i := range draw {
				for at, n := range counts[i] {
					sum[at] += n
					total += n
				}
			}
			left := float64(total) * q
			for at, n := range sum {
				if left -= float64(n); left <= 0 {
					return micros(times[at])
				}
			}
			return 0
		}
	}
}

// middleSlice is the median of the slices' 99th percentiles, in µs.
func middleSlice(runs []sample) func([]int) float64 {
	return func(draw []int) float64 {
		var all []time.Duration
		for _, i := range draw {
			all = append(all, runs[i].Outcome.Slices...)
		}
		return middleOf(all)
	}
}

// everyOne draws each of so many once.
func everyOne(n int) []int {
	draw := make([]int, n)
	for i := range draw {
		draw[i] = i
	}
	return draw
}

// resamples is how many times rounds are drawn for an interval.
const resamples = 400

// interval is the ratio of two contenders' statistics, with what it lies between in 95 of 100 draws
// of as many rounds, with repetition (the bootstrap, by Efron). A round is drawn as a whole: what
// disturbed it disturbed both. false: there are too few.
func interval(st statistic, own, base []sample) (ratio spread, ok bool) {
	var a, b []sample
	for _, s := range own {
		for _, t := range base {
			if s.Round == t.Round {
				a, b = append(a, s), append(b, t)
			}
		}
	}
	if len(a) < 2 {
		return spread{}, false
	}
	above, below := st.over(a), st.over(b)
	of := func(draw []int) float64 { return above(draw) / max(1e-9, below(draw)) }
	rng := rand.New(rand.NewPCG(1, 2))
	draw, all := make([]int, len(a)), make([]float64, resamples)
	for n := range all {
		for i := range draw {
			draw[i] = rng.IntN(len(a))
		}
		all[n] = of(draw)
	}
	slices.Sort(all)
	const outside = resamples / 40 // on each side
	return spread{of(everyOne(len(a))), all[outside], all[resamples-1-outside]}, true
}

// writeMerged says what all rounds come to together, of a workload whose runs have what it takes.
func writeMerged(w io.Writer, rep *report, wl workload) {
	if !isProxy(wl) || !wl.calm {
		return
	}
	bases := basesOf(rep.Config, wl)
	head := []string{"all rounds together", "p50 µs", "p90", "p99", "p99.9", "in the proxy: p50", "p90", "p99", "p99.9"}
	for _, b := range bases {
		for _, st := range merged {
			head = append(head, st.title+" ÷ "+b)
		}
	}
	fmt.Fprintln(w)
	heading(w, head)
	for _, name := range contendersOf(rep.Config, wl) {
		own := pick(rep.Samples, name, wl.Name)
		if len(own) == 0 {
			continue
		}
		cells := []string{name}
		for _, of := range []func(sample) []load.Count{fromStart, inProxy} {
			for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
				cells = append(cells, number(quantile(of, q)(own)(everyOne(len(own)))))
			}
		}
		for _, b := range bases {
			for _, st := range merged {
				cell := "–"
				if r, ok := interval(st, own, pick(rep.Samples, b, wl.Name)); ok && b != name {
					cell = fmt.Sprintf("%.2f (%.2f–%.2f)", r.median, r.least, r.most)
				}
				cells = append(cells, cell)
			}
		}
		line(w, cells)
	}
	fmt.Fprintf(w, "\nIn the proxy is from each call that sent until the other side's kernel had it, both ways together. In parentheses is what "+
		"95 %% of %d draws of whole rounds lie between.\n", resamples)
}
