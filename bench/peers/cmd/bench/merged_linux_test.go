package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

// run99 is one of a contender: so many messages of 10 µs and one of that time for each hundred.
func run99(name string, round int, slow time.Duration) sample {
	s := sample{Contender: name, Workload: "proxy-open", Round: round}
	s.Outcome.Elapsed = time.Second
	s.Outcome.Latency.Counts = []load.Count{{Took: 10 * time.Microsecond, N: 980}, {Took: slow, N: 20}}
	s.Outcome.Passage.Counts = []load.Count{{Took: 5 * time.Microsecond, N: 980}, {Took: slow / 2, N: 20}}
	s.Outcome.Slices = []time.Duration{slow, slow + time.Microsecond, slow - time.Microsecond}
	s.Outcome.Count, s.Figure = 1000, micros(slow)
	return s
}

func TestAllRoundsTogetherHaveAnInterval(t *testing.T) {
	var own, base []sample
	for round := range 10 {
		disturbed := time.Duration(round%3+1) * time.Microsecond // both alike
		own = append(own, run99("suiro/epoll", round, 40*disturbed))
		base = append(base, run99("haproxy", round, 50*disturbed))
	}
	for _, st := range merged {
		r, ok := interval(st, own, base)
		if !ok || math.Abs(r.median-0.8) > 0.02 || r.least > r.median || r.most < r.median {
			t.Errorf("%s: %+v, %v", st.title, r, ok)
		}
		if again, _ := interval(st, own, base); again != r {
			t.Errorf("%s: %+v, and then %+v", st.title, r, again)
		}
		if same, ok := interval(st, own, own); !ok || same != (spread{1, 1, 1}) {
			t.Errorf("%s, beside itself: %+v", st.title, same)
		}
		if _, ok := interval(st, own[:1], base); ok {
			t.Errorf("%s: one round has an interval", st.title)
		}
	}
	own[3].Outcome.Latency.Counts[1] = load.Count{Took: time.Second, N: 500} // a stall: in the messages, not in the middle slice
	if r, _ := interval(merged[0], own, base); r.median < 100 || r.least > 2 {
		t.Errorf("of all messages: %+v; one round in ten had the stall, and some draws have not that one", r)
	}
	if r, _ := interval(merged[2], own, base); r.median > 0.85 {
		t.Errorf("of the slices: %+v", r)
	}
}

func TestTheTableOfAllRoundsIsThatOfProxiesInAnOpenLoop(t *testing.T) {
	cfg := testConfig(t, "-workloads", "proxy-open,proxy-echo", "-peers", "suiro/epoll,haproxy")
	rep := &report{Config: cfg, Workloads: cfg.workloads, Missing: map[string]string{}}
	for round := range 4 {
		rep.Samples = append(rep.Samples, run99("suiro/epoll", round, 40*time.Microsecond), run99("haproxy", round, 50*time.Microsecond))
	}
	var out strings.Builder
	writeMarkdown(&out, rep)
	const want = "| suiro/epoll | 10.0 | 10.0 | 40.0 | 40.0 | 5.00 | 5.00 | 20.0 | 20.0 | 0.80 (0.80–0.80) | 0.80 (0.80–0.80) | 0.80 (0.80–0.80) |"
	if !strings.Contains(out.String(), want) || strings.Count(out.String(), "| all rounds together |") != 1 {
		t.Errorf("no %s in\n%s", want, out.String())
	}
}
