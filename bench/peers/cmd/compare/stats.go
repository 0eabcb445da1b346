package main

import "slices"

// spread is the median of some rounds with their extremes.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(xs []float64) spread {
	if len(xs) == 0 {
		return spread{}
	}
	xs = slices.Sorted(slices.Values(xs))
	mid := len(xs) / 2
	m := xs[mid]
	if len(xs)%2 == 0 {
		m = (xs[mid-1] + xs[mid]) / 2
	}
	return spread{m, xs[0], xs[len(xs)-1]}
}

// ratio compares a contender with a base, round by round.
type ratio struct {
	Base string `json:"base"`
	Rate spread `json:"rate"` // above 1: more requests per second than the base
	CPU  spread `json:"cpu"`  // above 1: more CPU per request than the base
	Used int    `json:"rounds"`
}

// row is one line of the table: a contender under a workload. Failed rounds count only in Failed and Errors.
type row struct {
	Contender string   `json:"contender"`
	Workload  workload `json:"workload"`
	Rate      spread   `json:"requests_per_second"`
	CPU       spread   `json:"cpu_micros_per_request"`
	User      spread   `json:"user_micros_per_request"`
	Sys       spread   `json:"sys_micros_per_request"`
	LoadCPU   spread   `json:"wrk_cpu_share"`
	Foreign   spread   `json:"foreign_cpu_share"`
	Ratios    []ratio  `json:"ratios"`
	Rounds    int      `json:"rounds"`
	Failed    int      `json:"failed_rounds"`
	Errors    int64    `json:"errors"`
}

type cell struct {
	contender string
	workload  workload
}

// summarise makes a row of every contender and workload, in the order in which the samples name them.
func summarise(samples []sample, bases []string) (rows []row) {
	cells := map[cell][]sample{}
	var order []cell
	for _, s := range samples {
		k := cell{s.Contender, s.Workload}
		if cells[k] == nil {
			order = append(order, k)
		}
		cells[k] = append(cells[k], s)
	}
	for _, k := range order {
		own := cells[k]
		r := row{Contender: k.contender, Workload: k.workload, Rounds: len(own)}
		for _, s := range own {
			if s.failed() {
				r.Failed++
				r.Errors += s.Load.errors()
			}
		}
		r.Rate = spreadOver(own, sample.rate)
		r.CPU = spreadOver(own, sample.cpu)
		r.User = spreadOver(own, sample.user)
		r.Sys = spreadOver(own, sample.system)
		r.LoadCPU = spreadOver(own, func(s sample) float64 { return s.LoadCPU })
		r.Foreign = spreadOver(own, func(s sample) float64 { return s.Foreign })
		for _, base := range bases {
			r.Ratios = append(r.Ratios, pair(own, base, cells[cell{base, k.workload}]))
		}
		rows = append(rows, r)
	}
	return rows
}

func spreadOver(samples []sample, value func(sample) float64) spread {
	var xs []float64
	for _, s := range samples {
		if !s.failed() {
			xs = append(xs, value(s))
		}
	}
	return spreadOf(xs)
}

// pair takes ratios within rounds: what slowed a whole round down cancels out.
func pair(own []sample, base string, bases []sample) ratio {
	var rates, cpus []float64
	for _, s := range own {
		for _, b := range bases {
			if b.Round == s.Round && !b.failed() && !s.failed() && b.cpu() > 0 {
				rates = append(rates, s.rate()/b.rate())
				cpus = append(cpus, s.cpu()/b.cpu())
			}
		}
	}
	return ratio{base, spreadOf(rates), spreadOf(cpus), len(rates)}
}
