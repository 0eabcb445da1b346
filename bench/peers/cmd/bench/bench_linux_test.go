package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

// binaries is where the tests' builds are, or "" until there are some.
var binaries string

// TestMain lets the tests' binary be a contender's, too: one that corrupts what it echoes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		corrupt()
	}
	dir, err := os.MkdirTemp("", "suiro-bench-test-")
	if err != nil {
		panic(err)
	}
	binaries = dir
	httpSettles = 10 * time.Millisecond
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// corrupt changes a bit in each thousandth message.
func corrupt() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("listening on", ln.Addr())
	var messages atomic.Int64
	for {
		c, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			p := make([]byte, 64)
			for {
				if _, err := io.ReadFull(c, p); err != nil {
					return
				}
				if messages.Add(1)%1000 == 0 {
					p[40] ^= 1
				}
				if _, err := c.Write(p); err != nil {
					return
				}
			}
		}()
	}
}

// testConfig is a command line, with short runs on one CPU.
func testConfig(t *testing.T, args ...string) config {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := parse(append([]string{"-root=" + root, "-bin=" + binaries, "-r", "1", "-d", "0.04", "-w", "0", "-idle", "200", "-load-cpu", "0"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func needBuilds(t *testing.T, cfg config) {
	t.Helper()
	missing, err := build(context.Background(), cfg)
	if err != nil || len(missing) > 0 {
		t.Fatal(err, missing)
	}
}

// All contenders that claim a kind of load serve one workload of it correctly. Of those of HTTP the
// test takes only some.
func TestEveryContenderServesEveryKind(t *testing.T) {
	cfg := testConfig(t, "-peers", "suiro,suiro-sequential,gnet,gnet-et,netpoll,nbio,evio,net,net-copy", "-workloads", "echo64-50,redis-1")
	needBuilds(t, cfg)
	webs := testConfig(t, "-peers", "suiro,gnet,net", "-workloads", "http-50,proxy-echo") // some are enough: each is a binary
	needBuilds(t, webs)
	cfg.burn = "1000"
	seen := map[string]bool{}
	for _, w := range workloads {
		if w.blocks() {
			w.Kind = "block:5ms"
		}
		if seen[w.Kind] {
			continue
		}
		seen[w.Kind] = true
		w.Conns = min(w.Conns, 20)
		w.Rate = min(w.Rate, 1000)
		cfg := cfg
		if w.Kind == plaintext || isProxy(w) {
			cfg = webs
		}
		for _, name := range contendersOf(cfg, w) {
			if strings.HasSuffix(name, "io_uring") && !hasRings() || (w.Kind == "http" || w.Kind == "https-idle") && !strings.HasPrefix(name, "suiro/") {
				continue
			}
			t.Run(w.Kind+", "+name, func(t *testing.T) {
				cfg := cfg
				s := measure(context.Background(), cfg, name, w, 0)
				if s.Failure != "" || strings.Contains(w.Unit, "CPU") && s.Figure <= 0 {
					t.Fatalf("%+v", s)
				}
			})
		}
	}
}

func TestAContenderThatCannotStartFailsItsRunAndShowsInTheTable(t *testing.T) {
	cfg := testConfig(t, "-peers", "net,net@/nowhere/serve", "-workloads", "churn")
	needBuilds(t, cfg)
	rep := &report{Config: cfg, Workloads: cfg.workloads}
	if err := rep.round(context.Background(), cfg, cfg.workloads[0], 0); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	writeMarkdown(&out, rep)
	if len(pick(rep.Samples, "net@/nowhere/serve", "churn")) != 0 || !strings.Contains(out.String(), "| **✗** 1 of 1 failed: net@/nowhere/serve | – |") {
		t.Fatal(out.String())
	}
}

func TestAServerThatCorruptsAByteFailsTheCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, "-peers", "suiro/epoll@"+exe, "-workloads", "echo64-50", "-d", "1", "-json", filepath.Join(t.TempDir(), "out.json"))
	ok, err := run(context.Background(), cfg)
	if err != nil || ok {
		t.Fatalf("%v, %v", ok, err)
	}
	text, err := os.ReadFile(cfg.json)
	if err != nil {
		t.Fatal(err)
	}
	var rep report
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.Samples) != 1 || !strings.Contains(rep.Samples[0].Failure, "wrong bytes came back") || rep.Environment.Kernel == "" {
		t.Fatalf("%+v", rep)
	}
}

func TestAnEarlierRunCanBeShownAgain(t *testing.T) {
	rep := testReport(t)
	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	file, first, again := filepath.Join(t.TempDir(), "out.json"), t.TempDir(), t.TempDir()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeResults(first, rep); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, "-render", file, "-results", again)
	if ok, err := render(context.Background(), cfg); ok || err != nil {
		t.Fatalf("%v, %v; a run failed", ok, err)
	}
	want, err1 := os.ReadFile(filepath.Join(first, "RESULTS.md"))
	got, err2 := os.ReadFile(filepath.Join(again, "RESULTS.md"))
	if err := errors.Join(err1, err2); err != nil || string(got) != string(want) {
		t.Fatalf("%v\n%s", err, got)
	}
}

// disturbances has a report of one latency, of a load that was late, which others did not disturb.
func disturbances(t *testing.T, late time.Duration) *report {
	cfg := testConfig(t, "-peers", "net", "-workloads", "open")
	s := sample{Contender: "net", Workload: "open", Rate: 1, Figure: 1, Refused: []string{"the CPUs could go idle: no"}}
	s.Outcome.Elapsed, s.Outcome.Late.P99 = time.Second, late
	return &report{Config: cfg, Workloads: cfg.workloads, Samples: []sample{s, s}}
}

func TestLatenciesOfALoadThatWasLateAreNotPassedOverInSilence(t *testing.T) {
	for late, want := range map[time.Duration]bool{lateLimit: false, lateLimit + 1: true} {
		rep := disturbances(t, late)
		if got := disturbed(rep.Samples[0]) != ""; got != want {
			t.Errorf("%v late: disturbed %v", late, got)
		}
		rep.Repeated = rep.Samples[:1]
		var out strings.Builder
		writeMarkdown(&out, rep)
		if got := strings.Contains(out.String(), "- open: 2 runs stand although they were disturbed"); got != want {
			t.Errorf("%v late: said %v\n%s", late, got, out.String())
		}
		if !strings.Contains(out.String(), "- open: 1 runs were disturbed and measured again") || strings.Count(out.String(), "could go idle") != 1 {
			t.Error(out.String())
		}
	}
	for _, s := range []sample{{Foreign: busyLimit + 0.01}, {Stolen: 0.001}} {
		if disturbed(s) == "" {
			t.Errorf("others had the CPU, and nobody minds: %+v", s)
		}
	}
}

func TestThePathsOfThisMachineAreNotInTheReport(t *testing.T) {
	got := visible([]string{"-root=/home/a", "-bin=/home/b", "-json", "/home/c/out.json", "-r", "2", "--json=/home/d/x.json"})
	if want := "-json out.json -r 2 -json=x.json"; strings.Join(got, " ") != want {
		t.Fatalf("%q, want %s", got, want)
	}
}

func TestOneComparisonAtATime(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	unlock, err := lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	if _, err := lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second one has the lock: %v", err)
	}
	unlock()
	unlock, err = lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestAPeerThatCannotBeBuiltIsNamed(t *testing.T) {
	rep := testReport(t)
	rep.Missing = map[string]string{"serve": "go is too old"}
	var out strings.Builder
	writeMarkdown(&out, rep)
	for _, want := range []string{"| **missing:** net |", "- missing: serve: go is too old"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if names := present(rep.Config, rep.Missing, rep.Workloads[0]); len(names) != 0 {
		t.Errorf("%v are to be measured", names)
	}
}

// testReport is of three rounds, in which the machine gets faster and Suiro's share of that with
// it.
func testReport(t *testing.T) *report {
	cfg := testConfig(t, "-r", "3", "-peers", "net,suiro/epoll", "-workloads", "stream,skew-1")
	rep := &report{Config: cfg, Workloads: cfg.workloads}
	for round, speed := range []float64{1, 10, 100} {
		for _, w := range cfg.workloads {
			for name, figure := range map[string]float64{"net": speed, "suiro/epoll": speed * float64(1+round)} {
				s := sample{Contender: name, Workload: w.Name, Round: round, Figure: figure}
				s.Outcome.Latency.Curve = []load.Point{{Percentile: 50, Took: time.Millisecond}, {Percentile: 99, Took: time.Second}, {Percentile: 100, Took: 2 * time.Second}}
				s.Outcome.Elapsed = time.Second
				rep.Samples = append(rep.Samples, s)
			}
		}
	}
	for i := range rep.Samples {
		if s := &rep.Samples[i]; s.Round == 2 && s.Contender == "suiro/epoll" {
			s.Failure = "it failed, so its figure does not count"
		}
	}
	return rep
}

func TestRatiosAreTakenWithinRounds(t *testing.T) {
	var out strings.Builder
	writeMarkdown(&out, testReport(t))
	for _, want := range []string{
		"| 1.50 (1.00–2.00) |", "round 3: it failed, so its figure does not count",
	} {
		if !strings.Contains(out.String(), want) {
			t.Fatalf("no %q in\n%s", want, out.String())
		}
	}
}

func TestTargetsComeFirst(t *testing.T) {
	rep, dir := testReport(t), t.TempDir()
	readme, err := os.ReadFile(filepath.Join(rep.Config.Root, "README.md"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "README.md"), readme, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	rep.Config.Root, rep.Environment.Date = dir, "2026-01-02T03:04:05Z" // the table of README is renewed, too
	if err := writeResults(dir, rep); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	at := -1
	for _, want := range []string{
		"## Targets reached: 0 of 1", "| skew-1 | µs p99, from the intended start | net | ≤ 0.6 | **no** | 1.50 (1.00–2.00) | suiro/epoll 1.50 | – |",
		"## Further targets: 2 of 2", "| stream | MiB per CPU second | net | ≥ 1.2 | yes | 1.50 (1.00–2.00) | suiro/epoll 1.50 | – |", "## stream: ",
	} {
		i := strings.Index(text, want)
		if i <= at {
			t.Fatalf("no %q, or not there, in\n%s", want, text)
		}
		at = i
	}
}

// webReport is of one round, with these figures.
func webReport(t *testing.T, figures map[string]float64) *report {
	cfg := testConfig(t, "-r", "1", "-peers", "suiro,suiro-raw,c-uring,gnet", "-workloads", "http-50")
	rep := &report{Config: cfg, Workloads: cfg.workloads}
	for name, figure := range figures {
		rep.Samples = append(rep.Samples, sample{Contender: name, Workload: "http-50", Figure: figure})
	}
	return rep
}

func TestTheBetterBackendWithThePeersHandlerIsWhatCounts(t *testing.T) {
	all := verdicts(webReport(t, map[string]float64{
		"c-uring": 2, "gnet": 4, "suiro-raw/io_uring": 2.08, "suiro-raw/epoll": 3, "suiro/io_uring": 2.5, "suiro/epoll": 3.5}), reach)
	var out strings.Builder
	writeReach(&out, "Targets", "", all)
	for _, want := range []string{
		"| c-uring | ≤ 1.05 | yes | 1.04 (1.04–1.04) | suiro-raw/io_uring 1.04, suiro-raw/epoll 1.50 | suiro/io_uring 1.25, suiro/epoll 1.75 |",
		"| gnet | ≤ 0.95 | yes | 0.520 (", "## Targets: 2 of 2",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if b := best([]standing{{"a", spread{median: 1}}, {"b", spread{median: 2}}}, true); b.name != "b" {
		t.Errorf("%s is better where more is", b.name)
	}
}

// Beside handlers that block a target may be of a percentile, of the slow ones, or a value without
// a peer.
func TestTargetsOfOtherAspects(t *testing.T) {
	cfg := testConfig(t, "-r", "1", "-peers", "suiro,suiro-sequential/epoll,net", "-workloads", "skew-8,block")
	rep := &report{Config: cfg, Workloads: cfg.workloads}
	add := func(name, workload string, p50, p99, quiet time.Duration, slow int64) {
		s := sample{Contender: name, Workload: workload}
		s.Outcome.Elapsed, s.Outcome.Slow = time.Second, slow
		s.Outcome.Latency.P50, s.Outcome.Latency.P99, s.Outcome.Quiet = p50, p99, &load.Latencies{P99: quiet}
		s.Figure = p99Micros(s.Outcome)
		rep.Samples = append(rep.Samples, s)
	}
	const ms = time.Millisecond
	add("net", "skew-8", 10*ms, 20*ms, 0, 100)
	add("suiro/epoll", "skew-8", 1*ms, 12*ms, 0, 95)
	add("suiro/io_uring", "skew-8", 2*ms, 8*ms, 0, 80)
	add("suiro-sequential/epoll", "skew-8", 3*ms, 8*ms, 0, 90)
	add("suiro/epoll", "block-1", ms, 3*ms, 2*ms, 1)
	add("suiro/epoll", "block-all", ms, 6*ms, 0, 1)
	var out strings.Builder
	writeReach(&out, "Stuck", "", verdicts(rep, neverStuck))
	for _, want := range []string{
		"## Stuck: 6 of 10",
		"| skew-8 | µs p50, from the intended start | net | ≤ 0.15 | yes | 0.100 (0.100–0.100) | suiro/io_uring 0.200, suiro/epoll 0.100 | – |",
		"| skew-8 | µs p50, from the intended start | net | ≤ 0.25 | **no** | 0.300 (",
		"| skew-8 | µs p99, from the intended start | net | ≤ 0.5 | yes | 0.400 (0.400–0.400) | suiro/io_uring 0.400, suiro/epoll 0.600 | – |",
		"| skew-8 | slow messages per second | net | ≥ 0.9 | yes | 0.950 (0.950–0.950) | suiro/io_uring 0.800, suiro/epoll 0.950 | – |",
		"| block-1 | p99 ÷ p99 of the same server while nothing blocks | – | ≤ 2 | yes | 1.50 (1.50–1.50) | suiro/epoll 1.50 | – |",
		"| block-1 | p99 ÷ p99 of the same server while nothing blocks | – | ≤ 2 | **no** | not measured: suiro-sequential/* is missing, or failed |",
		"| block-all | µs p99, from the intended start | – | ≤ 5000 | **no** | 6,000 (6,000–6,000) | suiro/epoll 6,000 | – |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestATargetIsNotReachedWhereOneIsMissing(t *testing.T) {
	for what, figures := range map[string]map[string]float64{
		"c-uring is missing, or failed":     {"gnet": 4, "suiro-raw/io_uring": 2.1, "suiro/epoll": 3.5},
		"suiro-raw/* is missing, or failed": {"gnet": 4, "c-uring": 2, "suiro/epoll": 1},
	} {
		var out strings.Builder
		writeReach(&out, "Targets", "", verdicts(webReport(t, figures), reach))
		if want := "| c-uring | ≤ 1.05 | **no** | not measured: " + what + " |"; !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestResultsHaveAPlotForEachWorkloadAndSayWhereSuiroLoses(t *testing.T) {
	rep, dir := testReport(t), t.TempDir()
	if err := writeResults(dir, rep); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"](plots/stream.svg)", "](plots/skew-1.svg)", "- **skew-1**: 1.50 of net."} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "- **stream**") {
		t.Errorf("Suiro won there:\n%s", text)
	}
	for _, name := range []string{"stream", "skew-1"} {
		picture, err := os.ReadFile(filepath.Join(dir, "plots", name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		tokens := xml.NewDecoder(strings.NewReader(string(picture)))
		shapes := 0
		for {
			token, err := tokens.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
				shapes++
			}
		}
		if shapes < 2 || !strings.Contains(string(picture), ">suiro/epoll<") || strings.Contains(string(picture), "NaN") {
			t.Errorf("%s has %d paths:\n%s", name, shapes, picture)
		}
	}
}

func TestReasonsAreFoundByWorkload(t *testing.T) {
	got := sections("# Why\n\n## http-50, http-500\n\nOne\nreason.\n\n## idle\n\nAnother.\n")
	if got["http-50"] != "One reason." || got["http-500"] != "One reason." || got["idle"] != "Another." || len(got) != 3 {
		t.Fatalf("%q", got)
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
	if got := strings.Join(names, " "); got != "echo64-50 echo64-500 echo64-5000 churn" {
		t.Fatal(got)
	}
	ws, err = chooseWorkloads([]string{"skew-1:slow=0", "udp:conns=256:depth=1", "open:rate=500"})
	if err != nil {
		t.Fatal(err)
	}
	if ws[0].Slow != 0 || ws[0].Rate == 0 || ws[1].Conns != 256 || ws[1].Depth != 1 || ws[1].Name != "udp:conns=256:depth=1" ||
		ws[2].Rate != 500 || ws[2].Capacity != 0 || workloads[0].Conns != 50 {
		t.Fatalf("%+v", ws)
	}
	for _, odd := range []string{"udp:conns", "udp:conns=x", "udp:what=1", "udp:conns=-1"} {
		if _, err := chooseWorkloads([]string{odd}); err == nil {
			t.Errorf("%s was taken", odd)
		}
	}
	if _, err := chooseWorkloads([]string{"echo6"}); err == nil {
		t.Fatal("echo6 is no workload")
	}
}

func TestPeersAreComparedWithSuiroOrAnotherBuildOfIt(t *testing.T) {
	for asked, want := range map[string]string{
		"gnet,net":               "suiro/io_uring suiro/epoll gnet net",
		"suiro/epoll,net":        "suiro/epoll net",
		"suiro":                  "suiro/io_uring suiro/epoll",
		"suiro/epoll,suiro@/old": "suiro/epoll suiro/io_uring@/old suiro/epoll@/old",
	} {
		got, err := chooseNames(list(asked))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v; want %s", asked, got, err, want)
		}
	}
	if _, err := chooseNames([]string{"nobody"}); err == nil {
		t.Error("nobody is no contender")
	}
	cfg := config{Names: []string{"suiro/epoll", "suiro/epoll@/old"}}
	if got := basesOf(cfg, workloads[0]); strings.Join(got, " ") != "suiro/epoll@/old" {
		t.Errorf("bases %v", got)
	}
}

func TestOnlyBusyTimeOfTheseCPUsCounts(t *testing.T) {
	stat := "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 400 500 4 5 6 7 8\ncpu1 10 0 0 0 0 0 0 0 0 0\ncpu10 1 1 1 1 1 1 1 1 1 1\n"
	for cpus, want := range map[string]time.Duration{"0": 210, "1": 100, "0,1": 310} {
		if got, _, err := parseBusy(stat, strings.Split(cpus, ",")); err != nil || got != want*time.Millisecond {
			t.Errorf("CPUs %s: %v, %v", cpus, got, err)
		}
	}
	if _, stolen, err := parseBusy(stat, []string{"0", "1"}); err != nil || stolen != 60*time.Millisecond {
		t.Errorf("%v were stolen, %v", stolen, err)
	}
	if _, _, err := parseBusy(stat, []string{"7"}); err == nil {
		t.Error("there is no CPU 7")
	}
}

func TestAnAddressIsFoundInWhatAServerPrints(t *testing.T) {
	for line, want := range map[string]string{
		"listening on 127.0.0.1:8080": "8080", "http on [::]:81 now": "81", "0.0.0.0:0": "", "127.0.0.1": "", "10.0.0.1:99": "",
	} {
		if got := findPort(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	l := newLines()
	for _, piece := range []string{"hello\nlisten", "ing on 127.0.0.1:1234", "\ncollected\nbye\n"} {
		if _, err := io.WriteString(l, piece); err != nil {
			t.Fatal(err)
		}
	}
	if addr := <-l.addr; addr != "127.0.0.1:1234" || len(l.collected) != 1 || strings.Join(l.last(), "|") != "hello|listening on 127.0.0.1:1234|bye" {
		t.Errorf("%s, %d, %q", addr, len(l.collected), l.last())
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{0.12345: "0.123", 1.2345: "1.23", 12.345: "12.3", 123.45: "123", 12345.6: "12,346", 1234567: "1,234,567", 0: "0.000"} {
		if got := number(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}
