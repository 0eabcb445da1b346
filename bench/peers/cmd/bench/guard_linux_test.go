package main

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

// turns are what a contender's ratio is at each measurement.
func turns(t *testing.T, ratios ...float64) (measure func(attempt) (map[string]float64, error), count *int) {
	count = new(int)
	return func(a attempt) (map[string]float64, error) {
		if want := attempts[*count]; a.rounds != want.rounds || a.seconds != want.seconds {
			t.Errorf("measurement %d has %d rounds of %g s", *count, a.rounds, a.seconds)
		}
		*count++
		return map[string]float64{"suiro/epoll": ratios[*count-1]}, nil
	}, count
}

func TestGuardFailsOnlyWhatWasWorseEachTime(t *testing.T) {
	w := workload{Name: "echo"}
	base := map[string]float64{"echo suiro/epoll": 0.5}
	for _, c := range []struct {
		what   string
		ratios []float64
		times  int
		ok     bool
	}{
		{"as before", []float64{0.5}, 1, true},
		{"19 % worse", []float64{0.595}, 1, true},
		{"better", []float64{0.1}, 1, true},
		{"worse once", []float64{0.7, 0.55}, 2, true},
		{"worse three times", []float64{0.7, 0.8, 0.61, 0.6}, 4, true},
		{"worse each time", []float64{0.61, 0.7, 0.65, 0.75}, 4, false},
		{"not a number, then as before", []float64{math.NaN(), 0.5}, 2, true},
		{"never a number", []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}, 4, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			measure, count := turns(t, c.ratios...)
			ok, err := evaluate(w, base, map[string]float64{}, false, attempts, measure)
			if err != nil || ok != c.ok || *count != c.times {
				t.Errorf("%v, %v after %d measurements", ok, err, *count)
			}
		})
	}
}

func TestGuardMeasuresAgainOnlyForWhoWasWorse(t *testing.T) {
	base := map[string]float64{"echo a": 1, "echo b": 1}
	calls := 0
	ok, err := evaluate(workload{Name: "echo"}, base, map[string]float64{}, false, attempts, func(a attempt) (map[string]float64, error) {
		calls++
		if calls == 1 {
			return map[string]float64{"a": 2, "b": 1}, nil
		}
		if !slices.Equal(a.names, []string{"a"}) {
			t.Errorf("%v are measured again", a.names)
		}
		return map[string]float64{"a": 1}, nil
	})
	if err != nil || !ok || calls != 2 {
		t.Errorf("%v, %v after %d measurements", ok, err, calls)
	}
}

func TestGuardMeasuresTheContenderOfAMedianLatency(t *testing.T) {
	if got := measured([]string{"b p50", "a", "b"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
	rep := &report{}
	w := workload{Name: "trickle", few: true}
	for _, s := range []struct {
		name          string
		cpu           float64
		middle, other time.Duration
	}{{reference, 10, 128, 1}, {"a", 5, 256, 1}} {
		one := sample{Contender: s.name, Workload: w.Name, Figure: s.cpu}
		one.Outcome.Latency.P50, one.Outcome.Latency.P99 = s.middle, s.other
		rep.Samples = append(rep.Samples, one)
	}
	got, err := rep.compare(config{Names: []string{"a", reference}}, w, 1)
	if err != nil || got["a"] != 0.5 || got["a p50"] != 2 || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestGuardWantsABaselineAndPassesFailuresOn(t *testing.T) {
	measure, _ := turns(t, 1)
	if _, err := evaluate(workload{Name: "new"}, nil, map[string]float64{}, false, attempts, measure); err == nil {
		t.Error("there is no baseline, and nobody says so")
	}
	measure, _ = turns(t, 1)
	found := map[string]float64{}
	if ok, err := evaluate(workload{Name: "new"}, nil, found, true, attempts, measure); err != nil || !ok || found["new suiro/epoll"] != 1 {
		t.Errorf("update: %v, %v, %v", ok, err, found)
	}
	broken := errors.New("a wrong byte")
	if _, err := evaluate(workload{Name: "echo"}, nil, nil, false, attempts, func(attempt) (map[string]float64, error) { return nil, broken }); err != broken {
		t.Errorf("%v", err)
	}
	if _, err := evaluate(workload{Name: "echo"}, nil, nil, false, attempts, func(attempt) (map[string]float64, error) { return nil, nil }); err == nil {
		t.Error("nothing was measured, and nobody says so")
	}
}
