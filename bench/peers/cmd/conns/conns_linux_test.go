package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestMain lets the tests' binary be the command's children, as the command itself is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "load") {
		main()
		return
	}
	os.Exit(m.Run())
}

func testConfig(t *testing.T, args ...string) config {
	t.Helper()
	cfg, err := parse(append([]string{"-r", "1", "-d", "0.05", "-w", "0", "-idle", "300", "-load-cpu", "0"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestEveryContenderServesEveryWorkload(t *testing.T) {
	cfg := testConfig(t, "-s", "all")
	for _, w := range cfg.workloads {
		w.Conns = min(w.Conns, 100)
		for _, name := range cfg.Names {
			t.Run(w.Name+", "+name, func(t *testing.T) {
				s := measure(context.Background(), cfg, name, w, 0)
				if kinds[w.Kind].tls && !speaksTLS(name) && strings.Contains(s.Failure, "no TLS") {
					return // as it says
				}
				if strings.Contains(s.Failure, "backend") {
					t.Skip(s.Failure) // a kernel without io_uring
				}
				if s.Failure != "" || !kinds[w.Kind].idle && s.Figure <= 0 {
					t.Fatalf("%+v", s)
				}
			})
		}
	}
}

func TestAContenderThatCannotStartFailsItsRunAndShowsInTheTable(t *testing.T) {
	cfg := testConfig(t, "-s", "net net@/nowhere/conns", "churn")
	var samples []sample
	for _, name := range cfg.Names {
		samples = append(samples, measure(context.Background(), cfg, name, cfg.workloads[0], 0))
	}
	if samples[0].Failure != "" || samples[1].Failure == "" {
		t.Fatalf("%+v", samples)
	}
	var out strings.Builder
	writeMarkdown(&out, cfg, samples)
	if !strings.Contains(out.String(), "**✗** 1 of 1 failed: net@/nowhere/conns | – |") {
		t.Fatal(out.String())
	}
}

func TestRatiosAreTakenWithinRounds(t *testing.T) {
	cfg := testConfig(t, "-r", "3", "-s", "net suiro/epoll", "stream")
	w := cfg.workloads[0]
	var samples []sample
	for round, speed := range []float64{1, 10, 100} { // of the machine
		samples = append(samples, sample{Contender: "net", Workload: w.Name, Round: round, Figure: speed},
			sample{Contender: "suiro/epoll", Workload: w.Name, Round: round, Figure: speed * float64(1+round)})
	}
	samples[5].Failure = "it failed, so its figure does not count"
	var out strings.Builder
	writeMarkdown(&out, cfg, samples)
	for _, want := range []string{"| 1.50 (1.00–2.00) |", "stream, suiro/epoll: 1.5 of net, reached (≥ 1.2)"} {
		if !strings.Contains(out.String(), want) {
			t.Fatalf("no %q in\n%s", want, out.String())
		}
	}
}

func TestANameStandsForAllThatBeginWithIt(t *testing.T) {
	ws, err := chooseWorkloads([]string{"echo64", "churn"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range ws {
		names = append(names, w.Name)
	}
	if got := strings.Join(names, " "); got != "churn echo64-50 echo64-500 echo64-5000" {
		t.Fatal(got)
	}
	if _, err := chooseWorkloads([]string{"echo6"}); err == nil {
		t.Fatal("echo6 is no workload")
	}
}
