package main

import (
	"errors"
	"testing"
)

// turns are what a contender's ratio is at each measurement.
func turns(t *testing.T, ratios ...float64) (measure func(int) (map[string]float64, error), count *int) {
	count = new(int)
	return func(rounds int) (map[string]float64, error) {
		if rounds != attempts[*count] {
			t.Errorf("measurement %d has %d rounds", *count, rounds)
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
		{"worse twice", []float64{0.7, 0.8, 0.6}, 3, true},
		{"worse each time", []float64{0.61, 0.7, 0.65}, 3, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			measure, count := turns(t, c.ratios...)
			ok, err := judge(w, base, map[string]float64{}, false, measure)
			if err != nil || ok != c.ok || *count != c.times {
				t.Errorf("%v, %v after %d measurements", ok, err, *count)
			}
		})
	}
}

func TestGuardMeasuresAgainOnlyForWhoWasWorse(t *testing.T) {
	base := map[string]float64{"echo a": 1, "echo b": 1}
	calls := 0
	ok, err := judge(workload{Name: "echo"}, base, map[string]float64{}, false, func(int) (map[string]float64, error) {
		calls++
		if calls == 1 {
			return map[string]float64{"a": 2, "b": 1}, nil
		}
		return map[string]float64{"a": 1, "b": 2}, nil // b has passed
	})
	if err != nil || !ok || calls != 2 {
		t.Errorf("%v, %v after %d measurements", ok, err, calls)
	}
}

func TestGuardWantsABaselineAndPassesFailuresOn(t *testing.T) {
	measure, _ := turns(t, 1)
	if _, err := judge(workload{Name: "new"}, nil, map[string]float64{}, false, measure); err == nil {
		t.Error("there is no baseline, and nobody says so")
	}
	measure, _ = turns(t, 1)
	found := map[string]float64{}
	if ok, err := judge(workload{Name: "new"}, nil, found, true, measure); err != nil || !ok || found["new suiro/epoll"] != 1 {
		t.Errorf("update: %v, %v, %v", ok, err, found)
	}
	broken := errors.New("a wrong byte")
	if _, err := judge(workload{Name: "echo"}, nil, nil, false, func(int) (map[string]float64, error) { return nil, broken }); err != broken {
		t.Errorf("%v", err)
	}
	if _, err := judge(workload{Name: "echo"}, nil, nil, false, func(int) (map[string]float64, error) { return nil, nil }); err == nil {
		t.Error("nothing was measured, and nobody says so")
	}
}
