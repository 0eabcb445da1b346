package main

import (
	"fmt"
	"slices"
	"strings"
)

// A spread is the median of some rounds with their extremes.
type spread struct{ median, least, most float64 }

// spreadOf takes at least one value.
func spreadOf(xs []float64) spread {
	xs = slices.Sorted(slices.Values(xs))
	mid := len(xs) / 2
	m := xs[mid]
	if len(xs)%2 == 0 {
		m = (xs[mid-1] + xs[mid]) / 2
	}
	return spread{m, xs[0], xs[len(xs)-1]}
}

// pick are the runs of a contender under a workload that did not fail, in the order of the rounds.
func pick(samples []sample, name, workload string) (own []sample) {
	for _, s := range samples {
		if s.Contender == name && s.Workload == workload && s.Failure == "" {
			own = append(own, s)
		}
	}
	return own
}

// values are what the runs came to.
func values(samples []sample, of func(sample) float64) (xs []float64) {
	for _, s := range samples {
		xs = append(xs, of(s))
	}
	return xs
}

func figure(s sample) float64 { return s.Figure }

// ratios are taken within rounds: what slowed a whole round down cancels out.
func ratios(own, base []sample) (rs []float64) { return ratiosOf(own, base, figure) }

func ratiosOf(own, base []sample, of func(sample) float64) (rs []float64) {
	for _, s := range own {
		for _, b := range base {
			if below := of(b); b.Round == s.Round && below > 0 {
				rs = append(rs, of(s)/below)
			}
		}
	}
	return rs
}

// times prints ratios as show does.
func times(xs []float64) string {
	if len(xs) == 0 {
		return "–"
	}
	s := spreadOf(xs)
	if len(xs) == 1 {
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.least, s.most)
}

// show prints the median, and the extremes if there are some.
func show(xs []float64) string {
	if len(xs) == 0 {
		return "–"
	}
	s := spreadOf(xs)
	if len(xs) == 1 {
		return number(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.median), number(s.least), number(s.most))
}

// number prints three digits, or all before the point.
func number(x float64) string {
	after := 0
	for limit := 100.; x < limit && after < 3; limit /= 10 {
		after++
	}
	text := fmt.Sprintf("%.*f", after, x)
	if after == 0 {
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
	}
	return text
}

// A loss is a peer that was better than both of Suiro's backends.
type loss struct {
	peer string
	got  spread // of Suiro's better backend, in ratio to it
}

// losses of a workload are told from 3 % on.
func losses(rep *report, w workload) (all []loss) {
	const tells = 0.03
	names := contendersOf(rep.Config, w)
	for _, peer := range names {
		if strings.HasPrefix(peer, "suiro") {
			continue
		}
		var best *spread
		for _, name := range names {
			if rs := ratios(pick(rep.Samples, name, w.Name), pick(rep.Samples, peer, w.Name)); strings.HasPrefix(name, "suiro/") && len(rs) > 0 {
				if s := spreadOf(rs); best == nil || w.more == (s.median > best.median) {
					best = &s
				}
			}
		}
		if best != nil && (!w.more && best.median > 1+tells || w.more && best.median < 1-tells) {
			all = append(all, loss{peer, *best})
		}
	}
	return all
}
